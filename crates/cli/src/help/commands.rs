//! What each command does, with examples. It refuses to explain what `--help` of another command
//! explains.

use super::CommandWords;

pub(super) static COMMANDS: &[CommandWords] = &[
    CommandWords {
        path: "",
        english: (
            "A queue of models that is itself one model: the first healthy one answers",
            "\
Examples:
  ekiden                       start the gateway with the keys of your environment
  ekiden demo                  watch a relay, without any key
  ekiden check                 read your configuration and say what is wrong with it
  ekiden status                how every queue and candidate stands now
  ekiden why last              tell what became of the last call, and why",
        ),
        chinese: (
            "模型接力：一条模型队列，本身就是一个模型；由第一个健康的候选作答",
            "\
示例：
  ekiden                       用环境变量里的密钥启动网关
  ekiden demo                  看一场接力，不需要密钥
  ekiden check                 检查配置，指出哪里不对
  ekiden status                各队列与候选此刻的状态
  ekiden why last              说明上一次请求发生了什么、为什么",
        ),
    },
    CommandWords {
        path: "serve",
        english: (
            "Start the gateway (what `ekiden` alone does)",
            "\
Without a file the providers are taken whose keys are in the environment (DEEPSEEK_API_KEY,
ANTHROPIC_API_KEY, OPENAI_API_KEY and others), and servers on this machine (Ollama, LM Studio).

Examples:
  ekiden
  DEEPSEEK_API_KEY=sk-… ekiden
  ekiden serve --config ./ekiden.toml
  ekiden serve --listen 127.0.0.1:9000

Ctrl-C (or SIGTERM) lets open calls finish; a second one ends them.",
        ),
        chinese: (
            "启动网关（单独运行 `ekiden` 即是）",
            "\
没有配置文件时，使用环境变量里有密钥的提供方（DEEPSEEK_API_KEY、ANTHROPIC_API_KEY、
OPENAI_API_KEY 等）以及本机的服务（Ollama、LM Studio）。

示例：
  ekiden
  DEEPSEEK_API_KEY=sk-… ekiden
  ekiden serve --config ./ekiden.toml
  ekiden serve --listen 127.0.0.1:9000

Ctrl-C（或 SIGTERM）会等未完成的请求结束；再按一次则立即结束。",
        ),
    },
    CommandWords {
        path: "demo",
        english: (
            "Play a relay through scripted models and draw it; no key needed",
            "\
One model is out of quota, one says nothing, one breaks off, one answers. The gateway before them
is the real one; it stays up afterwards, so that you can ask it yourself.

Examples:
  ekiden demo
  ekiden demo --once | less    as lines instead of a picture",
        ),
        chinese: (
            "用脚本模拟的模型演一场接力并画出来；不需要密钥",
            "\
一个模型额度用尽，一个一言不发，一个中途断开，一个作答。它们前面的网关是真的；
演完后继续运行，你可以自己去问它。

示例：
  ekiden demo
  ekiden demo --once | less    逐行输出，不画图",
        ),
    },
    CommandWords {
        path: "check",
        english: (
            "Read the configuration and say what is wrong with it, and where",
            "\
Exit code 0: it can be used. 1: no queue can, for want of a key or a candidate. 2: it is refused. With
--json: `usable`, `file`, and `problems[]` (`severity`, `code`, `line`, `column`, `message`, `hint`);
docs/settings.md lists the codes.

Examples:
  ekiden check                 the file that `ekiden` would read
  ekiden check ./ekiden.toml",
        ),
        chinese: (
            "读取配置，指出哪里不对、该怎么写",
            "\
退出码 0：可用。1：没有可用的队列（缺少密钥或候选）。2：不可用。加 --json 则输出 `usable`、`file` 和
`problems[]`（`severity`、`code`、`line`、`column`、`message`、`hint`）；各个 code 见 docs/settings.md。

示例：
  ekiden check                 检查 `ekiden` 会读取的那个文件
  ekiden check ./ekiden.toml",
        ),
    },
    CommandWords {
        path: "status",
        english: (
            "How every queue and candidate stands now",
            "\
Asks the running gateway. With --json its answer is printed as it is: `queues[]` with `candidates[]`
(`route`, `state`, `ends_in_ms`, `today`), `sessions[]`, `day`, `open`, `recording` (docs/api.md).

Examples:
  ekiden status
  ekiden status --json | jq '.queues[].candidates[] | select(.state != \"ready\") | .route'",
        ),
        chinese: (
            "各队列与候选此刻的状态",
            "\
向正在运行的网关询问。加 --json 则原样输出其回答：`queues[]` 含 `candidates[]`
（`route`、`state`、`ends_in_ms`、`today`），`sessions[]`、`day`、`open`、`recording`（docs/api.md）。

示例：
  ekiden status
  ekiden status --json | jq '.queues[].candidates[] | select(.state != \"ready\") | .route'",
        ),
    },
    CommandWords {
        path: "sessions",
        english: (
            "What runs for each session, and what is out for it",
            "\
A session is named by its key, or by its own name while one session alone bears it; `background` is
the bucket of calls that have none. --json: `sessions[]` (one session: the object) as docs/api.md.

Examples:
  ekiden sessions
  ekiden sessions SESSION
  ekiden sessions SESSION --end    it is over: its seats go back",
        ),
        chinese: (
            "每个会话在用什么，又有哪些候选被隔离",
            "\
会话以其键指明；若名字只属于一个会话，也可只写名字。`background` 是没有会话的请求共用的桶。
--json：`sessions[]`（指明一个时为该对象），见 docs/api.md。

示例：
  ekiden sessions
  ekiden sessions SESSION
  ekiden sessions SESSION --end    会话结束：归还席位",
        ),
    },
    CommandWords {
        path: "why",
        english: (
            "Tell which models a call passed over or tried, why, and for how long",
            "\
Every answer names its call in the header x-ekiden-call.

Examples:
  ekiden why last
  ekiden why CALL
  ekiden why last --json",
        ),
        chinese: (
            "说明一次请求跳过或尝试了哪些候选、为什么、花了多久",
            "\
每个回答都在响应头 x-ekiden-call 中写明请求 id。

示例：
  ekiden why last
  ekiden why CALL
  ekiden why last --json",
        ),
    },
    CommandWords {
        path: "test",
        english: (
            "Ask every candidate of a queue straight: does it answer?",
            "\
Each gets `hi` and may answer with at most 8 tokens, within 15 s, four at a time. It costs what such a
request costs. Nothing is kept, and nobody is quarantined.
Exit code 0: all answered. 1: one did not.
--json: `queue`, `candidates[]` with `route`, `ok`, `took_ms`, `class`, `status`, `code`, `message`.

Examples:
  ekiden test default
  ekiden test default --json | jq -r '.candidates[] | select(.ok | not) | .route'",
        ),
        chinese: (
            "直接询问队列的每个候选：它能作答吗？",
            "\
向每个候选发送 `hi`，最多回答 8 个词元，限 15 秒，同时四个。费用与这样一次请求相同。
不保存任何结果，也不隔离任何候选。
退出码 0：全部作答。1：有一个没有。
--json：`queue`、`candidates[]`，其中有 `route`、`ok`、`took_ms`、`class`、`status`、`code`、`message`。

示例：
  ekiden test default
  ekiden test default --json | jq -r '.candidates[] | select(.ok | not) | .route'",
        ),
    },
    CommandWords {
        path: "release",
        english: (
            "Let go of quarantines and cooldowns by hand",
            "\
--session: everything that is out for one session; with --queue and --route one place of it.
--route alone: its cooldown and rest, for everybody. --all: everything.
--json: `released` (session, place, route, all), `for_everybody`.

Examples:
  ekiden release --session SESSION
  ekiden release --session SESSION --queue default --route deepseek/deepseek-v4-pro
  ekiden release --route deepseek/deepseek-v4-pro
  ekiden release --all",
        ),
        chinese: (
            "手动解除隔离与冷却",
            "\
--session：某个会话的全部隔离；再加 --queue 与 --route 则只解除一处。
只写 --route：该线路的冷却与收工歇，对所有会话。--all：全部。
--json：`released`（session、place、route、all）、`for_everybody`。

示例：
  ekiden release --session SESSION
  ekiden release --session SESSION --queue default --route deepseek/deepseek-v4-pro
  ekiden release --route deepseek/deepseek-v4-pro
  ekiden release --all",
        ),
    },
    CommandWords {
        path: "journal",
        english: (
            "What happened and why, the newest last",
            "\
WHEN is a span back from now (30m, 2h, 1d) or a moment (2026-11-30, 2026-11-30T08:00).
KIND is one of quarantined, lifted, on_trial, cooled, warmed, failed_over, served_instead,
rotated, stalled, waited, continued, repaired, chunk_skipped, refused, queue_gone, slept,
paused, resumed, stopped, turned, settings_taken, settings_refused.
--json: an entry of docs/api.md a line: `number`, `at_ms`, `call`, `what`, and what belongs to it.

Examples:
  ekiden journal
  ekiden journal --since 2h --route deepseek/deepseek-v4-pro
  ekiden journal --follow --json | jq -r .what",
        ),
        chinese: (
            "发生了什么、为什么；最新的在最后",
            "\
WHEN 是从现在往回的时长（30m、2h、1d），或一个时刻（2026-11-30、2026-11-30T08:00）。
KIND 是 quarantined、lifted、on_trial、cooled、warmed、failed_over、served_instead、
rotated、stalled、waited、continued、repaired、chunk_skipped、refused、queue_gone、slept、
paused、resumed、stopped、turned、settings_taken、settings_refused 之一。
--json：每行一条 docs/api.md 中的记录：`number`、`at_ms`、`call`、`what` 及其所属字段。

示例：
  ekiden journal
  ekiden journal --since 2h --route deepseek/deepseek-v4-pro
  ekiden journal --follow --json | jq -r .what",
        ),
    },
    CommandWords {
        path: "ledger",
        english: (
            "Attempts and tokens, summed",
            "\
WHAT is day (unless said otherwise), queue, candidate or session. Tokens that a candidate reported and
those that were estimated (~) are told apart; `dropped` is what never reached a client.
--json: `by`, `sums[]` with `key`, `all`, `waste`, `complete`, `unknown` (docs/api.md). By day, `key`
counts days since 1970-01-01.

Examples:
  ekiden ledger
  ekiden ledger --by candidate --days 7
  ekiden ledger --by session --queue default --json",
        ),
        chinese: (
            "尝试次数与词元，合计",
            "\
WHAT 为 day（默认）、queue、candidate 或 session。候选自己报告的词元与估算的（~）分开列出；
「丢弃」是从未到达客户端的部分。
--json：`by`、`sums[]`，其中有 `key`、`all`、`waste`、`complete`、`unknown`（docs/api.md）。
按天时，`key` 是自 1970-01-01 起的天数。

示例：
  ekiden ledger
  ekiden ledger --by candidate --days 7
  ekiden ledger --by session --queue default --json",
        ),
    },
    CommandWords {
        path: "replay",
        english: (
            "Decide a recorded call again: are they the same decisions?",
            "\
A trace holds what the decisions read: states, classes and counts, no prompts and no answers.
Exit code 0: the same decisions. 1: another one.

Examples:
  ekiden replay last
  ekiden replay ./call.trace
  curl -s http://127.0.0.1:8787/api/v1/calls/CALL/trace | ekiden replay -",
        ),
        chinese: (
            "把记录下来的请求重新决定一遍：决定是否相同？",
            "\
轨迹里只有决定所依据的内容：状态、类别与计数，没有提示词，也没有回答。
退出码 0：决定相同。1：有不同。

示例：
  ekiden replay last
  ekiden replay ./call.trace
  curl -s http://127.0.0.1:8787/api/v1/calls/CALL/trace | ekiden replay -",
        ),
    },
    CommandWords {
        path: "classify",
        english: (
            "Say of each error on standard input what it is, a JSON object a line",
            "\
A line has `status`, `headers`, `body`, and where known `id`, `phase` (http, sse, transport, host),
`provider`, `now`. The answer has `id`, `class`, `retry_after_s`, `resets_at`, `model_specific`.

Examples:
  ekiden classify --rules
  echo '{\"id\":1,\"status\":429,\"headers\":{\"retry-after\":\"7\"},\"body\":\"slow down\"}' | ekiden classify",
        ),
        chinese: (
            "判断标准输入中的每个错误属于哪一类，每行一个 JSON 对象",
            "\
每行含 `status`、`headers`、`body`，已知时还有 `id`、`phase`（http、sse、transport、host）、
`provider`、`now`。回答含 `id`、`class`、`retry_after_s`、`resets_at`、`model_specific`。

示例：
  ekiden classify --rules
  echo '{\"id\":1,\"status\":429,\"headers\":{\"retry-after\":\"7\"},\"body\":\"slow down\"}' | ekiden classify",
        ),
    },
    CommandWords {
        path: "completions",
        english: (
            "Print what makes a shell complete the commands of `ekiden`",
            "\
SHELL is bash, elvish, fish, powershell or zsh.

Examples:
  ekiden completions bash > ~/.local/share/bash-completion/completions/ekiden
  ekiden completions zsh > ~/.zfunc/_ekiden
  ekiden completions fish > ~/.config/fish/completions/ekiden.fish",
        ),
        chinese: (
            "输出让 shell 补全 `ekiden` 命令的脚本",
            "\
SHELL 为 bash、elvish、fish、powershell 或 zsh。

示例：
  ekiden completions bash > ~/.local/share/bash-completion/completions/ekiden
  ekiden completions zsh > ~/.zfunc/_ekiden
  ekiden completions fish > ~/.config/fish/completions/ekiden.fish",
        ),
    },
];
