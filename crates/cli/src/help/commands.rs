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
  ekiden why last              说明上一次调用发生了什么、为什么",
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
没有配置文件时，使用环境变量里有密钥的上游（DEEPSEEK_API_KEY、ANTHROPIC_API_KEY、
OPENAI_API_KEY 等）以及本机的服务（Ollama、LM Studio）。

示例：
  ekiden
  DEEPSEEK_API_KEY=sk-… ekiden
  ekiden serve --config ./ekiden.toml
  ekiden serve --listen 127.0.0.1:9000

Ctrl-C（或 SIGTERM）会等未完成的调用结束；再按一次则立即结束。",
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
Exit code 0: it can be used. 2: it cannot.

Examples:
  ekiden check                 the file that `ekiden` would read
  ekiden check ./ekiden.toml",
        ),
        chinese: (
            "读取配置，指出哪里不对、该怎么写",
            "\
退出码 0：可用。2：不可用。

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
会话以其键指明；若名字只属于一个会话，也可只写名字。`background` 是没有会话的调用共用的桶。
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
            "说明一次调用跳过或尝试了哪些候选、为什么、花了多久",
            "\
每个回答都在响应头 x-ekiden-call 中写明调用 id。

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
只写 --route：该路由的冷却与收工歇，对所有会话。--all：全部。
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
KIND is one of quarantined, lifted, on_trial, cooled, warmed, failed_over, rotated, stalled, waited,
continued, repaired, chunk_skipped, refused, queue_gone, slept, turned.
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
KIND 是 quarantined、lifted、on_trial、cooled、warmed、failed_over、rotated、stalled、waited、
continued、repaired、chunk_skipped、refused、queue_gone、slept、turned 之一。
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
        path: "queue",
        english: (
            "Make, change, and carry queues of models",
            "\
Through the running gateway, which writes its settings file with comments and order kept, and takes
the change at once.

Examples:
  ekiden queue list
  ekiden queue new Fast deepseek/deepseek-v4-flash openai/gpt-5.2-mini
  ekiden queue add default deepseek/deepseek-v4-pro --at 1
  ekiden queue export queues.json",
        ),
        chinese: (
            "新建、修改、搬运模型队列",
            "\
由正在运行的网关写入设置文件（保留注释与顺序），立即生效。

示例：
  ekiden queue list
  ekiden queue new Fast deepseek/deepseek-v4-flash openai/gpt-5.2-mini
  ekiden queue add default deepseek/deepseek-v4-pro --at 1
  ekiden queue export queues.json",
        ),
    },
    CommandWords {
        path: "queue list",
        english: (
            "List the queues with their candidates in order",
            "\
--json: `queues[]` as in the state (docs/api.md).

Examples:
  ekiden queue list",
        ),
        chinese: (
            "列出队列及其候选（按顺序）",
            "\
--json：`queues[]`，与状态中相同（docs/api.md）。

示例：
  ekiden queue list",
        ),
    },
    CommandWords {
        path: "queue new",
        english: (
            "Make a queue; it may be empty",
            "\
Its id, which clients ask for, is made from the name unless --id names one.
--json: `id`, `name`, `candidates`, `hash`.

Examples:
  ekiden queue new Fast
  ekiden queue new \"My queue\" deepseek/deepseek-v4-pro --id mine",
        ),
        chinese: (
            "新建队列；可以为空",
            "\
客户端使用的 id 由名字生成，除非用 --id 指定。
--json：`id`、`name`、`candidates`、`hash`。

示例：
  ekiden queue new Fast
  ekiden queue new \"我的队列\" deepseek/deepseek-v4-pro --id mine",
        ),
    },
    CommandWords {
        path: "queue rename",
        english: (
            "Give a queue another name; its id stays",
            "\
Examples:
  ekiden queue rename default \"Every day\"",
        ),
        chinese: (
            "给队列改名；id 不变",
            "\
示例：
  ekiden queue rename default \"日常\"",
        ),
    },
    CommandWords {
        path: "queue delete",
        english: (
            "Delete a queue with its candidates; asks first",
            "\
Calls that still name it are answered by the first queue. The last queue stays.
--json: `deleted`, `candidates`, `hash`.

Examples:
  ekiden queue delete fast
  ekiden queue delete fast --yes",
        ),
        chinese: (
            "删除队列及其候选；先询问",
            "\
仍指名它的调用由第一个队列作答。最后一个队列不能删除。
--json：`deleted`、`candidates`、`hash`。

示例：
  ekiden queue delete fast
  ekiden queue delete fast --yes",
        ),
    },
    CommandWords {
        path: "queue add",
        english: (
            "Add a candidate to a queue, at its end unless --at says where",
            "\
Examples:
  ekiden queue add default deepseek/deepseek-v4-pro
  ekiden queue add default deepseek/deepseek-v4-pro --at 1",
        ),
        chinese: (
            "向队列添加候选；默认在末尾，或由 --at 指定",
            "\
示例：
  ekiden queue add default deepseek/deepseek-v4-pro
  ekiden queue add default deepseek/deepseek-v4-pro --at 1",
        ),
    },
    CommandWords {
        path: "queue remove",
        english: (
            "Take a candidate out of a queue",
            "\
Examples:
  ekiden queue remove default deepseek/deepseek-v4-pro",
        ),
        chinese: (
            "把候选移出队列",
            "\
示例：
  ekiden queue remove default deepseek/deepseek-v4-pro",
        ),
    },
    CommandWords {
        path: "queue move",
        english: (
            "Give a candidate another place in its queue",
            "\
Examples:
  ekiden queue move default deepseek/deepseek-v4-pro 1",
        ),
        chinese: (
            "调整候选在队列中的位置",
            "\
示例：
  ekiden queue move default deepseek/deepseek-v4-pro 1",
        ),
    },
    CommandWords {
        path: "queue order",
        english: (
            "Give the queues an order; name all of them",
            "\
The first is the first queue: it answers for what was deleted.

Examples:
  ekiden queue order fast default",
        ),
        chinese: (
            "调整队列的顺序；须写出全部 id",
            "\
第一个即首个队列：已删除的队列由它代为作答。

示例：
  ekiden queue order fast default",
        ),
    },
    CommandWords {
        path: "queue export",
        english: (
            "Write all queues as one JSON file: no ids, no other settings, no secrets",
            "\
Examples:
  ekiden queue export > queues.json
  ekiden queue export queues.json",
        ),
        chinese: (
            "把全部队列写成一个 JSON 文件：不含 id、其他设置与密钥",
            "\
示例：
  ekiden queue export > queues.json
  ekiden queue export queues.json",
        ),
    },
    CommandWords {
        path: "queue import",
        english: (
            "Add the queues of an export: all or none",
            "\
Equal names become `name (1)`; nothing that is there changes.
--json: `imported[]` with `id`, `name`, `candidates`; `hash`.

Examples:
  ekiden queue import queues.json
  ekiden queue export --url http://127.0.0.1:8788 | ekiden queue import -",
        ),
        chinese: (
            "添加导出文件中的队列：要么全部，要么一个也不",
            "\
重名的改为 `name (1)`；已有的不变。
--json：`imported[]`，其中有 `id`、`name`、`candidates`；`hash`。

示例：
  ekiden queue import queues.json
  ekiden queue export --url http://127.0.0.1:8788 | ekiden queue import -",
        ),
    },
    CommandWords {
        path: "provider",
        english: (
            "Providers that the gateway runs with",
            "\
`ekiden config set providers.ID.base_url URL` adds or changes one.

Examples:
  ekiden provider list",
        ),
        chinese: (
            "网关使用的上游",
            "\
用 `ekiden config set providers.ID.base_url URL` 添加或修改。

示例：
  ekiden provider list",
        ),
    },
    CommandWords {
        path: "provider list",
        english: (
            "List the providers, and where their keys come from",
            "\
--json: `providers[]` with `id`, `name`, `dialect`, `base_url`, `key` (`from`: env, file, settings,
stored or none).

Examples:
  ekiden provider list",
        ),
        chinese: (
            "列出上游及其密钥的来源",
            "\
--json：`providers[]`，其中有 `id`、`name`、`dialect`、`base_url`、`key`（`from`：env、file、
settings、stored 或 none）。

示例：
  ekiden provider list",
        ),
    },
    CommandWords {
        path: "key",
        english: (
            "Give the gateway a provider's key to keep",
            "\
It is kept in a file that only its owner can read, and never shown. A variable or a file that the
settings name comes before it.

Examples:
  ekiden key set deepseek
  ekiden key set deepseek < key.txt
  ekiden key forget deepseek",
        ),
        chinese: (
            "让网关保存某个上游的密钥",
            "\
密钥保存在只有所有者可读的文件里，从不显示。设置中指明的环境变量或文件优先。

示例：
  ekiden key set deepseek
  ekiden key set deepseek < key.txt
  ekiden key forget deepseek",
        ),
    },
    CommandWords {
        path: "key set",
        english: (
            "Store a provider's key; it is asked for, unseen, or read from standard input",
            "\
--json: `provider`, `stored`.

Examples:
  ekiden key set deepseek
  ekiden key set deepseek < key.txt",
        ),
        chinese: (
            "保存某个上游的密钥；会提示输入（不显示），或从标准输入读取",
            "\
--json：`provider`、`stored`。

示例：
  ekiden key set deepseek
  ekiden key set deepseek < key.txt",
        ),
    },
    CommandWords {
        path: "key forget",
        english: (
            "Forget a stored key",
            "\
--json: `provider`, `stored`.

Examples:
  ekiden key forget deepseek",
        ),
        chinese: (
            "删除保存的密钥",
            "\
--json：`provider`、`stored`。

示例：
  ekiden key forget deepseek",
        ),
    },
    CommandWords {
        path: "token",
        english: (
            "Tokens for clients and administrators on other machines",
            "\
On this machine's loopback address none is needed. A gateway that others shall reach starts only when
there is one for clients and one with --admin. These commands send the token in $EKIDEN_TOKEN.

Examples:
  ekiden token new laptop
  ekiden token new phone --queue default --calls-max 2
  ekiden token list",
        ),
        chinese: (
            "给其他机器上的客户端与管理者的令牌",
            "\
本机回环地址不需要令牌。要让其他机器访问，须先有一个客户端令牌和一个 --admin 令牌，网关才会启动。
这些命令会带上 $EKIDEN_TOKEN 中的令牌。

示例：
  ekiden token new laptop
  ekiden token new phone --queue default --calls-max 2
  ekiden token list",
        ),
    },
    CommandWords {
        path: "token list",
        english: (
            "List the tokens, without the tokens themselves",
            "\
--json: `tokens[]` with `id`, `name`, `scope`, `queues`, `calls_max`, `open_calls`, `made_ms`; `required`.

Examples:
  ekiden token list",
        ),
        chinese: (
            "列出令牌；不显示令牌本身",
            "\
--json：`tokens[]`，其中有 `id`、`name`、`scope`、`queues`、`calls_max`、`open_calls`、`made_ms`；`required`。

示例：
  ekiden token list",
        ),
    },
    CommandWords {
        path: "token new",
        english: (
            "Make a token; it is shown this once",
            "\
Only a digest of it is kept. On a pipe the token alone is printed.
--json: `token`, `made`.

Examples:
  ekiden token new laptop
  ekiden token new phone --queue default --calls-max 2
  ekiden token new console --admin",
        ),
        chinese: (
            "新建令牌；只显示这一次",
            "\
网关只保存它的摘要。输出到管道时只输出令牌本身。
--json：`token`、`made`。

示例：
  ekiden token new laptop
  ekiden token new phone --queue default --calls-max 2
  ekiden token new console --admin",
        ),
    },
    CommandWords {
        path: "token revoke",
        english: (
            "Revoke a token: from now on it is refused",
            "\
--json: `revoked`.

Examples:
  ekiden token revoke ID",
        ),
        chinese: (
            "吊销令牌：此后一律拒绝",
            "\
--json：`revoked`。

示例：
  ekiden token revoke ID",
        ),
    },
    CommandWords {
        path: "config",
        english: (
            "Settings: what holds, where it comes from, and changes",
            "\
Through the running gateway, which writes its file with comments and order kept. docs/configuration.md
has every key with its bounds.

Examples:
  ekiden config get
  ekiden config get queues.default
  ekiden config set defaults.retries 3
  ekiden config path",
        ),
        chinese: (
            "设置：当前值、来源与修改",
            "\
由正在运行的网关写入文件（保留注释与顺序）。docs/configuration.md 列出每个键及其范围。

示例：
  ekiden config get
  ekiden config get queues.default
  ekiden config set defaults.retries 3
  ekiden config path",
        ),
    },
    CommandWords {
        path: "config get",
        english: (
            "Show one setting, those below a path, or all",
            "\
One alone is printed as it is; several with where they come from.
--json: one: `path`, `value`, `origin`; several: `settings[]` of these.

Examples:
  ekiden config get
  ekiden config get defaults.retries
  ekiden config get providers.deepseek",
        ),
        chinese: (
            "显示一项设置、某路径下的设置，或全部",
            "\
单独一项只输出值；多项则同时显示来源。
--json：一项为 `path`、`value`、`origin`；多项为 `settings[]`。

示例：
  ekiden config get
  ekiden config get defaults.retries
  ekiden config get providers.deepseek",
        ),
    },
    CommandWords {
        path: "config set",
        english: (
            "Set one key in the settings file",
            "\
Spans and sizes have their unit (45s, 8MiB), lists are written a,b. A file that was changed meanwhile
is not written over. --json: `hash`.

Examples:
  ekiden config set defaults.retries 3
  ekiden config set queues.default.idle_timeout 90s
  ekiden config set aliases.gpt-* default",
        ),
        chinese: (
            "在设置文件中设定一个键",
            "\
时长与大小须带单位（45s、8MiB），列表写作 a,b。期间被改动过的文件不会被覆盖。--json：`hash`。

示例：
  ekiden config set defaults.retries 3
  ekiden config set queues.default.idle_timeout 90s
  ekiden config set aliases.gpt-* default",
        ),
    },
    CommandWords {
        path: "config unset",
        english: (
            "Take one key out of the settings file: its default holds again",
            "\
An alias or a whole provider can go as well. --json: `hash`.

Examples:
  ekiden config unset defaults.retries
  ekiden config unset providers.deepseek",
        ),
        chinese: (
            "从设置文件中去掉一个键：恢复默认",
            "\
也可以去掉一个别名或整个上游。--json：`hash`。

示例：
  ekiden config unset defaults.retries
  ekiden config unset providers.deepseek",
        ),
    },
    CommandWords {
        path: "config path",
        english: (
            "Print the path of the file that `ekiden` would read",
            "\
It need not be there. No gateway is asked.

Examples:
  $EDITOR \"$(ekiden config path)\"",
        ),
        chinese: (
            "输出 `ekiden` 会读取的文件的路径",
            "\
文件不一定存在。不询问网关。

示例：
  $EDITOR \"$(ekiden config path)\"",
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
            "把记录下来的调用重新决定一遍：决定是否相同？",
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
