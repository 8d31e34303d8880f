"""What modules of JavaScript and TypeScript export."""

import pytest

from treadle.git.api.javascript import module_name, read


def signatures(source: str, path: str = "web/cart.ts") -> dict[str, str]:
    return {name: one.signature for name, one in read(path, source.encode()).symbols.items()}


CLASS = """
import { z } from 'z';
/** A cart. */
export abstract class Cart<T> extends Base implements Priced {
  @observed() static readonly limit: number = 3;
  private secret = 1;
  protected inner() {}
  #own = 2;
  _old() {}
  constructor(private size: number) { super() }
  get price(): number { return 1 }
  async add(item: T, count?: number,): Promise<void> {}
  abstract close(): void;
  twice = (n: number) => n * 2;
}
"""


def test_the_members_of_a_class_are_names() -> None:
    assert signatures(CLASS) == {
        "web/cart.Cart": "abstract class Cart<T> extends Base implements Priced",
        "web/cart.Cart.limit": "@observed() static readonly limit: number",
        "web/cart.Cart.constructor": "constructor(private size: number)",
        "web/cart.Cart.price": "get price(): number",
        "web/cart.Cart.add": "async add(item: T, count?: number): Promise<void>",
        "web/cart.Cart.close": "abstract close(): void",
        "web/cart.Cart.twice": "twice = (n: number) =>",
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("export function f(a: number, b = 1): string { return '' }", {"f": "function f(a: number, b = 1): string"}),
        ("export async function* g() {}", {"g": "async function*g()"}),
        ("export declare function f(): void;", {"f": "function f(): void"}),
        ("export const f = async (x: number): T => x;", {"f": "const f = async(x: number): T =>"}),
        ("export const m: Map<string, number> = new Map()", {"m": "const m: Map<string, number>"}),
        ("export let a = 1, b;", {"a": "let a", "b": "let b"}),
        ("export const { p, q: r, ...s } = o;", {"p": "const p", "r": "const r", "s": "const s"}),
        ("export interface I extends J {\n  a: string\n  b?(x: number): void\n}", None),
        ("export type T = { a: 1, b: 2, };", {"T": "type T = { a: 1; b: 2 }"}),
        ("export enum E { A = 1, B, }", {"E": "enum E { A = 1, B }"}),
        ("export namespace N { export const t = 1; const u = 2; }", {"N": "namespace N", "N.t": "const t"}),
        ("export default function (a) {}", {"default": "default = function(a)"}),
        ("export default function named(a) {}", {"default": "function named(a)"}),
        ("export default class { run() {} }", {"default": "class", "default.run": "run()"}),
        ("export default 3 + 4", {"default": "default"}),
        ("class A { f() {} }\nexport default A;", {"default": "class A", "default.f": "f()"}),
        ("class A {}\nexport = A;", {"default": "class A"}),
        ("function f(a) {}\nexport { f as g, other };", {"g": "function f(a)", "other": "other"}),
        ("export { a as b, c } from './z';", {"b": "a from ./z", "c": "c from ./z"}),
        ("export * from './x';", {"* from ./x": "* from ./x"}),
        ("export * as ns from './y';", {"ns": "* as ns from ./y"}),
        ("export type { T } from './t';", {"T": "T from ./t"}),
        ("function own() {}\nconst x = 1;", {}),
        (
            "export function f(a: string): void;\nexport function f(a: any) {}",
            {"f": "function f(a: string): void; function f(a: any)"},
        ),
    ],
)
def test_exported_names_have_their_signatures(source: str, expected: dict[str, str] | None) -> None:
    wanted = {"I": "interface I extends J { a: string; b?(x: number): void }"} if expected is None else expected
    assert signatures(source) == {f"web/cart.{name}": text for name, text in wanted.items()}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("function f(a) {}\nmodule.exports = { f, g: (x) => x, n: 3, h() {} }", {"f", "g", "n", "h"}),
        ("class K { m() {} }\nmodule.exports = K", {"default", "default.m"}),
        ("module.exports = function (a) {}", {"default"}),
        ("exports.a = 1; module.exports.b = function () {}", {"a", "b"}),
        ("exports.a = exports.b = 1", {"a", "b"}),
        ("module.exports = { ...require('./x') }", {"...require('./x')"}),
        ("other.exports = 1; exported.a = 2", set()),
    ],
)
def test_the_older_manner_of_exporting(source: str, expected: set[str]) -> None:
    assert set(signatures(source, "web/cart.js")) == {f"web/cart.{name}" for name in expected}


def test_declarations_without_exports_are_global() -> None:
    source = "declare function k(a: number): void;\ninterface W { a: 1 }\n"
    assert set(signatures(source, "types/g.d.ts")) == {"types/g.k", "types/g.W"}
    assert signatures(source, "types/g.ts") == {}


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/cart.ts", "a/cart"), ("a/index.js", "a"), ("index.ts", "index"), ("a/b.d.ts", "a/b"), ("x.y.mjs", "x.y")],
)
def test_module_names(path: str, name: str) -> None:
    assert module_name(path) == name


@pytest.mark.parametrize("path", ["a.tsx", "a.jsx", "a.js"])
def test_markup_is_understood(path: str) -> None:
    assert signatures("export const Page = (p) => <b>{p.x}</b>;", path) == {"a.Page": "const Page = (p) =>"}


SAME = [
    ("export function f(a, b) { return 'x' }", 'export function f(\n  a,\n  b,\n) {\n  // why\n  return "x";\n}'),
    ("export const x = { a: 1, b: [1, 2] };", "export const x = {\n  a: 1,\n  b: [1, 2,],\n}"),
    ("export interface I { a: 1; b: 2 }", "export interface I {\n  /** doc */\n  a: 1,\n  b: 2,\n}"),
]
OTHER = [
    ("export const x = `a b`", "export const x = `a  b`"),
    ("export const x = [1, , ]", "export const x = [1, ]"),
    ("export const x = 'a;b'", "export const x = 'ab'"),
    ("export const x = /a b/", "export const x = /ab/"),
    ("export function f() { a\n(b) }", "export function f() { a;\n(b) }"),
    ("export class A { private x = 1 }", "export class A { private x = 2 }"),
    ("export const P = () => <b>a b</b>", "export const P = () => <b>a c</b>"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_layout_and_comments_do_not_matter(one: str, other: str) -> None:
    assert read("a.ts", one.encode()) == read("a.ts", other.encode())


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_every_other_change_matters(one: str, other: str) -> None:
    assert read("a.tsx", one.encode()) != read("a.tsx", other.encode())


def test_a_syntax_error_has_its_line() -> None:
    with pytest.raises(SyntaxError) as caught:
        read("a.ts", b"export const a = 1;\nexport const x = ;\n")
    assert caught.value.lineno == 2
