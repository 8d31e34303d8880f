"""An agent that speaks ACP over its standard streams: `python stand_in.py CAPABILITIES [ACTIONS]`.

It does what its prompt says, which ends with a list of actions in JSON, or what its command line says. Everything that
the client sends is written to `heard.jsonl`.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HEARD = Path("heard.jsonl")
SESSION = {"sessionId": "talk-1"}
MODEL = {
    "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
    "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
}  # fmt: skip


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    with HEARD.open("a") as file:
        file.write(line)
    message: dict[str, Any] = json.loads(line)
    return message


def update(what: str, /, **news: Any) -> None:
    send(method="session/update", params={**SESSION, "update": {"sessionUpdate": what, **news}})


def say(words: str, kind: str = "agent_message_chunk") -> None:
    update(kind, content={"type": "text", "text": words})


def ask(method: str, **params: Any) -> dict[str, Any]:
    send(id="asked", method=method, params={**SESSION, **params})
    while (answer := hear()).get("id") != "asked":
        pass
    return answer


def permission(call: dict[str, Any], kinds: list[str]) -> None:
    options = [{"optionId": f"id-{kind}", "name": kind, "kind": kind} for kind in kinds]
    answer = ask(
        "session/request_permission", toolCall={"toolCallId": call.get("title", "it"), **call}, options=options
    )
    say(json.dumps(answer["result"]["outcome"]))


def write(path: str, text: str) -> None:
    answer = ask("fs/write_text_file", path=path, content=text)
    say("refused;" if "error" in answer else "written;")


def wait_for_cancel() -> None:
    while hear().get("method") != "session/cancel":
        pass


def act(actions: list[list[Any]]) -> dict[str, Any]:
    """The answer to a prompt."""
    for name, *words in actions:
        match name:
            case "say":
                say(*words)
            case "flood":
                for _ in range(words[0]):
                    say("flood " * 100_000)
            case "call":
                update("tool_call", toolCallId=words[0], title=words[0], **words[1])
            case "permission":
                permission(*words)
            case "write":
                write(*words)
            case "raw":
                sys.stdout.write(words[0] + "\n")
            case "log":
                sys.stderr.write(words[0] + "\n")
                sys.stderr.flush()
            case "update":
                update(words[0], **words[1])
            case "run":
                subprocess.run(words, check=False)
            case "hang":
                wait_for_cancel()
                return {"result": {"stopReason": "cancelled"}}
            case "die":
                sys.exit(words[0])
            case "fail":
                return {"error": {"code": words[0], "message": words[1]}}
            case "end":
                return {"result": words[0]}
    return {"result": {"stopReason": "end_turn"}}


def answer(method: str, params: dict[str, Any], able: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {"result": {"protocolVersion": able.pop("version", 1), "agentCapabilities": able}}
        case "session/new":
            return {"result": {**SESSION, "configOptions": [MODEL]}}
        case "session/load":
            if params["sessionId"] == "gone":
                return {"error": {"code": -32002, "message": "there is no such session"}}
            say("An old question.", "user_message_chunk")
            say('{"exit": {"type": "Old"}}')
            return {"result": {}}
        case "session/fork":
            return {"result": {"sessionId": f"{params['sessionId']}-branch"}}
        case "session/prompt":
            found = params["prompt"][0]["text"].rpartition("ACTIONS:")
            return act(json.loads(found[2] if found[1] else sys.argv[2]))
        case "session/resume" | "session/set_config_option":
            return {"result": {"configOptions": []}}
    return {"error": {"code": -32601, "message": f"there is no {method}"}}


def main() -> None:
    able = json.loads(sys.argv[1])
    while True:
        told = hear()
        if "method" in told and "id" in told:
            send(id=told["id"], **answer(told["method"], told["params"], able))


if __name__ == "__main__":
    main()
