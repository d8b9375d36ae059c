//! What the commands do that steer calls and look at models, with examples. It refuses to explain what
//! other commands explain.

use super::CommandWords;

pub(super) static CONTROL: &[CommandWords] = &[
    CommandWords {
        path: "dry-run",
        english: (
            "What a call would do now, and why; nothing is sent",
            "\
Exit code 1: it would be refused. --json: `would` (run, wait, refuse), `route`, `wait_ms`, `steps[]`.

Examples:
  ekiden dry-run default
  ekiden dry-run default --session my-session --tokens 90000",
        ),
        chinese: (
            "此刻一次请求会怎么走、为什么；什么也不发送",
            "\
退出码 1：会被拒绝。--json：`would`（run、wait、refuse）、`route`、`wait_ms`、`steps[]`。

示例：
  ekiden dry-run default
  ekiden dry-run default --session my-session --tokens 90000",
        ),
    },
    CommandWords {
        path: "pause",
        english: (
            "Calls no longer persist, until `resume`",
            "\
A call that waits for another round ends with its last failure; what runs goes on. It outlives a
restart. --json: `paused`, `session`.

Examples:
  ekiden pause
  ekiden pause --session my-session",
        ),
        chinese: (
            "请求不再坚持，直到 `resume`",
            "\
正在等待下一轮的请求以最后一次失败结束；运行中的不受影响。重启后仍有效。--json：`paused`、`session`。

示例：
  ekiden pause
  ekiden pause --session my-session",
        ),
    },
    CommandWords {
        path: "resume",
        english: (
            "Calls persist again",
            "\
The pause of everybody and those of sessions are apart. --json: `paused`, `session`.

Examples:
  ekiden resume
  ekiden resume --session my-session",
        ),
        chinese: (
            "请求继续坚持",
            "\
全局暂停与会话暂停互相独立。--json：`paused`、`session`。

示例：
  ekiden resume
  ekiden resume --session my-session",
        ),
    },
    CommandWords {
        path: "stop",
        english: (
            "End an open call; its client is told so",
            "\
No candidate is blamed. --json: `stopped`.

Examples:
  ekiden stop last
  ekiden stop ek-1a2b3c4d-7",
        ),
        chinese: (
            "结束一次进行中的请求，并告知其客户端",
            "\
不归咎于任何候选。--json：`stopped`。

示例：
  ekiden stop last
  ekiden stop ek-1a2b3c4d-7",
        ),
    },
    CommandWords {
        path: "catalog",
        english: (
            "Models with windows, levels of effort and prices, as they were kept",
            "\
Nobody is asked. --json: `providers[]` with `models[]` (docs/api.md).

Examples:
  ekiden catalog
  ekiden catalog deepseek",
        ),
        chinese: (
            "模型及其窗口、思考强度与价格（缓存）",
            "\
不会询问任何提供方。--json：`providers[]` 含 `models[]`（docs/api.md）。

示例：
  ekiden catalog
  ekiden catalog deepseek",
        ),
    },
    CommandWords {
        path: "rescan",
        english: (
            "Ask providers for their models anew",
            "\
What they said before is forgotten. Exit code 1: one of them did not answer. --json: as `catalog`.

Examples:
  ekiden rescan
  ekiden rescan deepseek moonshot",
        ),
        chinese: (
            "重新向提供方询问其模型",
            "\
先前的回答会被丢弃。退出码 1：有提供方没有回答。--json：同 `catalog`。

示例：
  ekiden rescan
  ekiden rescan deepseek moonshot",
        ),
    },
    CommandWords {
        path: "provider hide",
        english: (
            "Leave a provider's models out where candidates are chosen",
            "\
Calls are not concerned. --json: `hash`.

Examples:
  ekiden provider hide openrouter",
        ),
        chinese: (
            "选择候选时不列出该提供方的模型",
            "\
不影响请求。--json：`hash`。

示例：
  ekiden provider hide openrouter",
        ),
    },
    CommandWords {
        path: "provider restore",
        english: (
            "List a hidden provider's models again",
            "\
--json: `hash`.

Examples:
  ekiden provider restore openrouter",
        ),
        chinese: (
            "重新列出已隐藏提供方的模型",
            "\
--json：`hash`。

示例：
  ekiden provider restore openrouter",
        ),
    },
];
