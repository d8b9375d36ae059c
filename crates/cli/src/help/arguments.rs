//! What each argument is for. It refuses to say what an argument's name says.

use super::ArgumentWords;

pub(super) static ARGUMENTS: &[ArgumentWords] = &[
    ArgumentWords {
        id: "config",
        english: "The configuration file; else $EKIDEN_CONFIG, your own folder, the environment",
        chinese: "配置文件；否则依次为 $EKIDEN_CONFIG、用户配置文件夹、环境变量",
    },
    ArgumentWords {
        id: "listen",
        english: "Where to listen, instead of what the configuration says",
        chinese: "监听地址，代替配置中的地址",
    },
    ArgumentWords {
        id: "once",
        english: "End after the conversation instead of staying up",
        chinese: "演完即结束，不继续运行",
    },
    ArgumentWords {
        id: "path",
        english: "The file; without it the one that `ekiden` would read",
        chinese: "文件；不写则为 `ekiden` 会读取的那个",
    },
    ArgumentWords {
        id: "url",
        english: "The running gateway; without it where the configuration says that it listens",
        chinese: "正在运行的网关；不写则为配置中的监听地址",
    },
    ArgumentWords { id: "json", english: "Print JSON, as below", chinese: "输出 JSON，见下" },
    ArgumentWords {
        id: "named",
        english: "A session's key, or its own name",
        chinese: "会话的键，或它自己的名字",
    },
    ArgumentWords {
        id: "end",
        english: "End it: its seats go back",
        chinese: "结束该会话：归还席位",
    },
    ArgumentWords {
        id: "call",
        english: "A call's id, or `last`",
        chinese: "请求的 id，或 `last`",
    },
    ArgumentWords { id: "queue", english: "A queue's id", chinese: "队列的 id" },
    ArgumentWords {
        id: "session",
        english: "A session's key, or its own name",
        chinese: "会话的键，或它自己的名字",
    },
    ArgumentWords { id: "route", english: "`provider/model`", chinese: "`提供方/模型`" },
    ArgumentWords {
        id: "all", english: "Everything, for everybody", chinese: "全部，对所有会话"
    },
    ArgumentWords {
        id: "since",
        english: "Only what happened since then",
        chinese: "只看此后发生的",
    },
    ArgumentWords {
        id: "of_call",
        english: "Only what this call led to",
        chinese: "只看这次请求引起的",
    },
    ArgumentWords { id: "of_session", english: "Only this session", chinese: "只看这个会话" },
    ArgumentWords { id: "of_queue", english: "Only this queue", chinese: "只看这个队列" },
    ArgumentWords {
        id: "of_route",
        english: "Only this route, `provider/model`",
        chinese: "只看这条线路（`提供方/模型`）",
    },
    ArgumentWords { id: "what", english: "Only entries of this kind", chinese: "只看这一类" },
    ArgumentWords {
        id: "limit",
        english: "At most so many, the newest; 200 unless --since is given",
        chinese: "最多这么多条，取最新的；不写 --since 时为 200",
    },
    ArgumentWords {
        id: "follow",
        english: "Go on with what happens from now on",
        chinese: "继续显示此后发生的",
    },
    ArgumentWords { id: "by", english: "What a line stands for", chinese: "每行代表什么" },
    ArgumentWords {
        id: "days",
        english: "Only the last N days, today among them",
        chinese: "只看最近 N 天，含今天",
    },
    ArgumentWords {
        id: "token_name", english: "Whose it is, for people", chinese: "给人看的名字"
    },
    ArgumentWords {
        id: "admin",
        english: "For the gateway's own interface, too",
        chinese: "也可用于网关自己的接口",
    },
    ArgumentWords {
        id: "only",
        english: "It may call only this queue; may be repeated",
        chinese: "只能请求这个队列；可重复",
    },
    ArgumentWords {
        id: "calls_max",
        english: "How many of its calls may be open at once",
        chinese: "同时未完成的请求上限",
    },
    ArgumentWords {
        id: "token",
        english: "A token's id, as `ekiden token list` shows it",
        chinese: "令牌的 id，见 `ekiden token list`",
    },
    ArgumentWords {
        id: "trace",
        english: "A file, `-` for standard input, or a call's id (or `last`) at the running gateway",
        chinese: "文件、`-`（标准输入），或网关上某次请求的 id（或 `last`）",
    },
    ArgumentWords {
        id: "rules",
        english: "Print the rules as a table instead",
        chinese: "改为输出规则表",
    },
    ArgumentWords { id: "shell", english: "Which shell", chinese: "哪种 shell" },
    ArgumentWords { id: "queue_name", english: "What people see", chinese: "给人看的名字" },
    ArgumentWords {
        id: "routes",
        english: "Candidates in order, `provider/model`",
        chinese: "候选，按顺序（`提供方/模型`）",
    },
    ArgumentWords { id: "id", english: "What clients ask for", chinese: "客户端使用的 id" },
    ArgumentWords { id: "yes", english: "Do not ask", chinese: "不再询问" },
    ArgumentWords { id: "at", english: "Its place, from 1", chinese: "位置，从 1 起" },
    ArgumentWords {
        id: "place", english: "Its new place, from 1", chinese: "新位置，从 1 起"
    },
    ArgumentWords { id: "ids", english: "All queues, by their ids", chinese: "全部队列的 id" },
    ArgumentWords {
        id: "to",
        english: "Where to write; without it to standard output",
        chinese: "写到哪里；不写则为标准输出",
    },
    ArgumentWords {
        id: "from",
        english: "The file, or `-` for standard input",
        chinese: "文件，或 `-`（标准输入）",
    },
    ArgumentWords { id: "provider", english: "A provider's id", chinese: "提供方的 id" },
    ArgumentWords {
        id: "some_key",
        english: "A key, or what several begin with",
        chinese: "一个键，或若干键的开头",
    },
    ArgumentWords {
        id: "key",
        english: "A key, such as defaults.retries",
        chinese: "键，例如 defaults.retries",
    },
    ArgumentWords {
        id: "first_key",
        english: "A key, such as defaults.retries; with its value as KEY=VALUE where several are set",
        chinese: "键，例如 defaults.retries；一次设定多个时连同值写成 KEY=VALUE",
    },
    ArgumentWords {
        id: "value",
        english: "Its value, or more KEY=VALUE",
        chinese: "值，或更多 KEY=VALUE",
    },
    ArgumentWords { id: "more", english: "More KEY=VALUE", chinese: "更多 KEY=VALUE" },
    ArgumentWords {
        id: "tokens",
        english: "How large the conversation is, in tokens",
        chinese: "对话的大小，以词元计",
    },
    ArgumentWords {
        id: "some_providers",
        english: "These providers alone, by their ids",
        chinese: "只限这些提供方（id）",
    },
    ArgumentWords {
        id: "open_call",
        english: "An open call's id, or `last`",
        chinese: "进行中请求的 id，或 `last`",
    },
    ArgumentWords {
        id: "budget",
        english: "What it may spend a day: `USD 5`, `CNY 20`, `2000000 tokens`",
        chinese: "每日预算：`USD 5`、`CNY 20`、`2000000 tokens`",
    },
];
