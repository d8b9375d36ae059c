//! What the commands do that change queues, providers, keys, tokens and settings. It refuses to
//! explain what `--help` of another command explains.

use super::CommandWords;

pub(super) static CHANGES: &[CommandWords] = &[
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
仍指名它的请求由第一个队列作答。最后一个队列不能删除。
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
`ekiden config set` adds and changes one, as does a section `[providers.ID]` in the settings file;
`ekiden config unset providers.ID` removes it.

Examples:
  ekiden provider list
  ekiden config set providers.mine.base_url=https://api.example.com/v1 providers.mine.dialect=openai-chat",
        ),
        chinese: (
            "网关使用的提供方",
            "\
用 `ekiden config set` 添加和修改，也可以在设置文件中写一节 `[providers.ID]`；用
`ekiden config unset providers.ID` 去掉。

示例：
  ekiden provider list
  ekiden config set providers.mine.base_url=https://api.example.com/v1 providers.mine.dialect=openai-chat",
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
            "列出提供方及其密钥的来源",
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
            "让网关保存某个提供方的密钥",
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
            "保存某个提供方的密钥；会提示输入（不显示），或从标准输入读取",
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
            "Set keys in the settings file: all of them or none",
            "\
Spans and sizes have their unit (45s, 8MiB), lists are written a,b. Several KEY=VALUE are one change,
as a new provider needs. A file that was changed meanwhile is not written over. --json: `hash`; `file`
where no gateway runs.

Examples:
  ekiden config set defaults.retries 3
  ekiden config set queues.default.idle_timeout 90s
  ekiden config set providers.mine.base_url=https://api.example.com/v1 providers.mine.dialect=openai-chat
  ekiden config set aliases.gpt-* default",
        ),
        chinese: (
            "在设置文件中设定若干键：要么全部，要么一个也不",
            "\
时长与大小须带单位（45s、8MiB），列表写作 a,b。多个 KEY=VALUE 算作一次修改，新提供方就需要这样。
期间被改动过的文件不会被覆盖。--json：`hash`；没有网关运行时为 `file`。

示例：
  ekiden config set defaults.retries 3
  ekiden config set queues.default.idle_timeout 90s
  ekiden config set providers.mine.base_url=https://api.example.com/v1 providers.mine.dialect=openai-chat
  ekiden config set aliases.gpt-* default",
        ),
    },
    CommandWords {
        path: "config unset",
        english: (
            "Take one key out of the settings file: its default holds again",
            "\
An alias or a whole provider can go as well. --json: `hash`; `file` where no gateway runs.

Examples:
  ekiden config unset defaults.retries
  ekiden config unset providers.deepseek",
        ),
        chinese: (
            "从设置文件中去掉一个键：恢复默认",
            "\
也可以去掉一个别名或整个提供方。--json：`hash`；没有网关运行时为 `file`。

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
];
