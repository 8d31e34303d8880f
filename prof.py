import sys, os, json, time
sys.path.insert(0, "/work/main")
import tempfile, asyncio, subprocess
from pathlib import Path
import bench.agent_call as m
from bench import agent_call_script, agent_call_treadle
from tools.agents.apart import inside_apart

class Fresh(agent_call_script.Caller):
    n = 0
    def call(self, name, like):
        Fresh.n += 1
        self._home = self._folder / f"home{Fresh.n}"
        self._home.mkdir()
        return super().call(name, like)

def prof(server, folder):
    agent = (folder / "agent").read_text()
    os.environ |= m.client_variables(server.url, folder / "user")
    project = m.Project(folder / "repo")
    agent_call_treadle.lay_out(project.root)
    out = {"treadle": [], "script": [], "fresh": []}
    with m.opened_store(project, create=True) as store, m.HttpTools() as tools:
        t = agent_call_treadle.Caller(project, store, tools, agent)
        s = agent_call_script.Caller(folder / "script", tools)
        f = Fresh(folder / "fresh", tools)
        for n in range(7):
            c = t.call(f"r{n}")
            ag = c.work.home / "agent" / "0"
            st = {p.name: p.stat().st_mtime for p in ag.iterdir()}
            out["treadle"].append((c.parts.total, c.parts.worked, {k: round(v - st["keeper"],3) for k, v in st.items()}))
            out["script"].append(s.call(f"s{n}", c))
            out["fresh"].append(f.call(f"f{n}", c))
        out["home"] = subprocess.run(["du", "-ah", str(c.work.home.parent / "conversations")], capture_output=True, text=True).stdout
        out["argv"] = c.runner.command(c.work, Path("/h"), "", os.environ["PATH"])
    return out

if __name__ == "__main__":
    for agent in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as d:
            folder = Path(d); (folder/"agent").write_text(agent)
            import prof as me
            r = inside_apart(me.prof, folder, m.SCRIPTS, 300)
            print(agent)
            for a, b, c in zip(r["treadle"], r["script"], r["fresh"]): print(a, round(b,3), round(c,3))
            print(r["home"][-3000:]); print(r["argv"])
