"""Lines that a diff adds."""

from treadle.evidence.subject import added_lines

DIFF = """diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -1,3 +1,4 @@ def f():
 one
-two
++++ b/not-a-file
+three\x0cstill
 four
\\ No newline at end of file
diff --git a/y b/y
--- /dev/null
+++ b/y
@@ -0,0 +1 @@
+only
"""


def test_lines_are_counted_as_git_does() -> None:
    assert list(added_lines(DIFF)) == [("x.py", 2, "+++ b/not-a-file"), ("x.py", 3, "three\x0cstill"), ("y", 1, "only")]
