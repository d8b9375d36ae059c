//! Every key as data: where it stands, what it takes, its bounds, what it is for. Refuses to be
//! one of several lists: the reader checks files by this table, and the reference and the schema
//! are printed from it.

use crate::policy;
use crate::settings::{DIALECTS, LOG_LEVELS, PROFILES, SESSION_FIELDS, UNKNOWN_MODELS};
use crate::{clocks, value::Value};

/// A set of keys that may stand in one or several sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Before the first section.
    Top,
    /// `[journal]`.
    Journal,
    /// `[limits]`.
    Limits,
    /// `[providers.ID]`.
    Provider,
    /// `[queues.ID]`.
    Queue,
    /// An entry of `candidates`.
    Candidate,
    /// A policy's fields: `[defaults]`, `[queues.ID]`, `[direct]`.
    Policy,
    /// `[direct]`, beside a policy's fields and clocks.
    Direct,
    /// Clocks: `[defaults]`, `[queues.ID]`, `[direct]`, an entry of `candidates`.
    Clock,
}

/// What a key takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds, both included.
    Integer {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A span with its unit, within bounds in milliseconds, both included.
    Span {
        /// The least.
        min_ms: u64,
        /// The greatest.
        max_ms: u64,
    },
    /// A size with its unit, within bounds in bytes, both included.
    Bytes {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// Text that is not empty.
    Text {
        /// The longest, in characters.
        max_chars: usize,
    },
    /// One of a closed list.
    Choice(&'static [&'static str]),
    /// Several of a closed list.
    Choices(&'static [&'static str]),
    /// Several texts, none of them empty.
    Texts,
    /// Names with texts, the texts kept like keys.
    SecretPairs,
    /// A credential.
    Secret,
    /// The name of an environment variable.
    Variable,
    /// A path; `~/` is the home folder.
    Path,
    /// `http://` or `https://`.
    Url,
    /// `http://`, `https://` or `socks5://`.
    Proxy,
    /// `ADDRESS:PORT`.
    Listen,
    /// A name of the IANA time-zone database.
    Zone,
    /// Candidates: texts `provider/model`, tables, or one text with a candidate a line.
    Candidates,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Where it may stand.
    pub group: Group,
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// The environment variable that beats the file.
    pub variable: Option<&'static str>,
    /// The default as people read it, where no preset gives it.
    default: &'static str,
    /// What it is for, in English.
    pub about_en: &'static str,
    /// What it is for, in Chinese.
    pub about_zh: &'static str,
}

/// A section of the file and the groups of keys that may stand in it.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// As the reference writes it; empty before the first section.
    pub path: &'static str,
    /// The keys.
    pub groups: &'static [Group],
    /// What it is for, in English.
    pub about_en: &'static str,
    /// What it is for, in Chinese.
    pub about_zh: &'static str,
}

impl Key {
    pub(crate) const fn new(
        group: Group,
        name: &'static str,
        kind: Kind,
        about_en: &'static str,
        about_zh: &'static str,
    ) -> Self {
        Self { group, name, kind, variable: None, default: "", about_en, about_zh }
    }

    const fn default_is(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    const fn variable_is(mut self, variable: &'static str) -> Self {
        self.variable = Some(variable);
        self
    }

    /// The default as TOML; words where the machine at hand decides; empty where there is none.
    #[must_use]
    pub fn default_text(&self) -> String {
        let relay = policy::PolicySettings::preset(policy::Preset::Relay);
        if let Some(row) = policy::ROWS.iter().find(|row| self.is(&row.key)) {
            return (row.show)(&relay).to_string();
        }
        if let Some(row) = clocks::ROWS.iter().find(|row| self.is(&row.key)) {
            let remote = clocks::Clocks::default_for(clocks::Locality::Remote);
            return Value::Ms((row.show)(&remote)).to_string();
        }
        self.default.to_owned()
    }

    fn is(&self, other: &Self) -> bool {
        self.group == other.group && self.name == other.name
    }
}

/// The sections, in the order of the reference.
pub static SECTIONS: [Section; 10] = [
    Section {
        path: "",
        groups: &[Group::Top],
        about_en: "Before the first section.",
        about_zh: "写在第一个分节之前。",
    },
    Section {
        path: "providers.ID",
        groups: &[Group::Provider],
        about_en: "One upstream. `ID` stands before the slash of a route.",
        about_zh: "一个提供方。`ID` 即线路中斜杠之前的部分。",
    },
    Section {
        path: "queues.ID",
        groups: &[Group::Queue, Group::Policy, Group::Clock],
        about_en: "A queue: clients ask for it as the model `ID`. The first one is the first queue. Every key of a policy and every clock may stand here too.",
        about_zh: "一条队列：客户端以模型名 `ID` 选用。写在最前的是第一条队列。策略字段与时限也可写在这里。",
    },
    Section {
        path: "queues.ID.candidates",
        groups: &[Group::Candidate, Group::Clock],
        about_en: "One candidate as a table, where `\"provider/model\"` is not enough. Every clock may stand here too.",
        about_zh: "以表的形式写一个候选，用于 `\"provider/model\"` 不够时。时限也可写在这里。",
    },
    Section {
        path: "defaults",
        groups: &[Group::Policy, Group::Clock],
        about_en: "What holds for every queue that does not say otherwise.",
        about_zh: "队列未另行指定时的取值。",
    },
    Section {
        path: "direct",
        groups: &[Group::Direct, Group::Policy, Group::Clock],
        about_en: "What holds for calls that name `provider/model`; its `policy` is `none` unless set.",
        about_zh: "直接以 `provider/model` 请求时的取值；`policy` 默认为 `none`。",
    },
    Section {
        path: "aliases",
        groups: &[],
        about_en: "Model names of your own: `\"claude-*\" = \"default\"`. `*` stands for any text, `?` for one character. A queue's id comes before any alias; an exact name before a pattern; of several patterns the one with the most literal characters holds.",
        about_zh: "自定义模型名：`\"claude-*\" = \"default\"`。`*` 代表任意文本，`?` 代表一个字符。队列 id 先于别名，精确名先于通配；多个通配匹配时取字面字符最多者。",
    },
    Section {
        path: "prices",
        groups: &[],
        about_en: "What a million tokens of a route cost, where it is not what the table of known models says or the table does not know it: `\"deepseek/deepseek-v4-pro\" = \"CNY 3 in, 6 out, 0.025 cached\"`. `in`: input; `out`: output; `cached`: input that was read from a cache; `written`: input that was written to one. Currencies are `USD` and `CNY`, and none is turned into the other (R34).",
        about_zh: "某条线路每百万词元的价格，用于已知模型表没有或与之不同时：`\"deepseek/deepseek-v4-pro\" = \"CNY 3 in, 6 out, 0.025 cached\"`。`in` 输入，`out` 输出，`cached` 命中缓存的输入，`written` 写入缓存的输入。货币为 `USD` 或 `CNY`，不作换算（R34）。",
    },
    Section {
        path: "journal",
        groups: &[Group::Journal],
        about_en: "The event log that people read (R32).",
        about_zh: "供人阅读的事件日志（R32）。",
    },
    Section {
        path: "limits",
        groups: &[Group::Limits],
        about_en: "Bounds on what is held and kept (G9, G14).",
        about_zh: "暂存与保留的上限（G9、G14）。",
    },
];

/// The keys of a group, in the order of the reference.
pub fn keys_of(group: Group) -> impl Iterator<Item = &'static Key> {
    let policy = policy::ROWS.iter().map(|row| &row.key);
    let clock = clocks::ROWS.iter().map(|row| &row.key);
    KEYS.iter().chain(policy).chain(clock).filter(move |key| key.group == group)
}

/// The section of that path.
pub(crate) fn section(path: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.path == path)
}

const fn key(
    group: Group,
    name: &'static str,
    kind: Kind,
    about_en: &'static str,
    about_zh: &'static str,
) -> Key {
    Key::new(group, name, kind, about_en, about_zh)
}

const fn seconds(min: u64, max: u64) -> Kind {
    Kind::Span { min_ms: min * 1_000, max_ms: max * 1_000 }
}

/// The most characters of a name that a user gives: of a queue, a provider, a token.
pub const NAME_MAX_CHARS: usize = 100;

const NAME: Kind = Kind::Text { max_chars: NAME_MAX_CHARS };

#[rustfmt::skip]
static KEYS: [Key; 45] = [
    key(Group::Top, "listen", Kind::Listen,
        "Where the gateway listens. Other machines reach it only on an address that is not loopback, and then it starts only with a client token and an admin token (G9).",
        "网关监听地址。监听非回环地址时其他机器才能访问，且须先有客户端令牌和管理令牌才会启动（G9）。").default_is("\"127.0.0.1:8787\"").variable_is("EKIDEN_LISTEN"),
    key(Group::Top, "time_zone", Kind::Zone,
        "The time zone whose day counts, by its IANA name (R17).",
        "以哪个时区计日，填 IANA 名称（R17）。").default_is("the system's").variable_is("EKIDEN_TIME_ZONE"),
    key(Group::Top, "reset_hour", Kind::Integer { min: 0, max: 23 },
        "The hour at which the day turns: quarantine, tallies and speeds end (R17).",
        "每日重置的钟点：隔离、计数与速度清空（R17）。").default_is("1").variable_is("EKIDEN_RESET_HOUR"),
    key(Group::Top, "enabled", Kind::Bool,
        "Off: every queue is one try on its first candidate; nothing is held, retried, judged or recorded (R0).",
        "关闭后每条队列只在第一个候选上试一次，不暂存、不重试、不判定、不记录（R0）。").default_is("true"),
    key(Group::Top, "unknown_model", Kind::Choice(UNKNOWN_MODELS),
        "What an unknown model name gets: an `error` with the nearest names, or the `first` queue (R1).",
        "未知模型名：`error` 报错并给出相近名称，`first` 用第一条队列（R1）。").default_is("\"error\""),
    key(Group::Top, "log", Kind::Choice(LOG_LEVELS),
        "The least severe log lines that are written.",
        "写出的最低日志级别。").default_is("\"info\"").variable_is("EKIDEN_LOG"),
    key(Group::Top, "state_dir", Kind::Path,
        "The folder where state is kept; one process per folder (G13).",
        "状态所在文件夹，每个文件夹一个进程（G13）。").default_is("the user's state folder").variable_is("EKIDEN_STATE_DIR"),
    key(Group::Top, "allowed_origins", Kind::Texts,
        "Origins of browser apps that may call, such as `https://app.example` (G14).",
        "允许请求的浏览器应用来源，例如 `https://app.example`（G14）。").default_is("[]"),
    key(Group::Top, "hidden_providers", Kind::Texts,
        "Providers whose models are left out where candidates are chosen, by their ids; calls are not concerned (R38).",
        "选择候选时不列出的提供方，填其 id；不影响请求（R38）。").default_is("[]"),
    key(Group::Top, "session_fields", Kind::Choices(SESSION_FIELDS),
        "Members of the body that may name a session when no header does (G4).",
        "没有会话头时，可用来识别会话的请求体字段（G4）。").default_is("[]"),
    key(Group::Top, "keepalive_after", seconds(1, 3_600),
        "How long a stream's status and head are held before keep-alives begin (G2).",
        "流式请求的状态与响应头最多扣住多久，之后开始发保活（G2）。").default_is("\"45s\""),
    key(Group::Top, "keepalive_every", seconds(1, 60),
        "The pause between keep-alives (G2).",
        "两次保活之间的间隔（G2）。").default_is("\"10s\""),
    key(Group::Top, "drain_timeout", seconds(0, 600),
        "How long open calls may go on after a stop was asked for (G13).",
        "收到停止信号后，未完成的请求还可进行多久（G13）。").default_is("\"30s\""),

    key(Group::Journal, "enabled", Kind::Bool,
        "Whether the journal is kept.", "是否记录。").default_is("true"),
    key(Group::Journal, "entries_max", Kind::Integer { min: 1, max: 100_000 },
        "How many entries are kept; older ones are pruned.", "保留多少条，更旧的会被清理。").default_is("200"),

    key(Group::Limits, "body_bytes_max", Kind::Bytes { min: 1 << 10, max: 1 << 30 },
        "One request's body, decoded.", "单个请求体（解码后）的上限。").default_is("\"64MiB\""),
    key(Group::Limits, "held_bytes_max", Kind::Bytes { min: 1 << 20, max: 1 << 40 },
        "All bodies held for resending together; beyond it the answer is 503 (G14).",
        "为重发而暂存的请求体总量上限；超出则答 503（G14）。").default_is("\"512MiB\""),
    key(Group::Limits, "head_bytes_max", Kind::Bytes { min: 4 << 10, max: 1 << 20 },
        "One call's headers.", "单个请求头部的上限。").default_is("\"64KiB\""),
    key(Group::Limits, "calls_max", Kind::Integer { min: 1, max: 1_000_000 },
        "Calls open at once.", "同时进行的请求数上限。").default_is("1000"),
    key(Group::Limits, "sessions_max", Kind::Integer { min: 1, max: 10_000_000 },
        "Sessions remembered.", "记住的会话数上限。").default_is("10000"),

    key(Group::Provider, "name", NAME,
        "The name that people see.", "显示给人看的名称。").default_is("the id"),
    key(Group::Provider, "base_url", Kind::Url,
        "Where it is. For `openai-…` with the version (`…/v1`), for `anthropic-messages` without.",
        "地址。`openai-…` 带版本（`…/v1`），`anthropic-messages` 不带。").default_is("required"),
    key(Group::Provider, "dialect", Kind::Choice(DIALECTS),
        "The wire format that it speaks.", "所用的协议格式。").default_is("required"),
    key(Group::Provider, "profile", Kind::Choice(PROFILES),
        "How much of the dialect it takes: `native` passes everything through, `compatible` takes out or rewrites what third parties refuse.",
        "对协议的支持程度：`native` 原样透传，`compatible` 去掉或改写第三方不接受的部分。").default_is("`native` at the dialect's own vendor, else `compatible`"),
    key(Group::Provider, "vendor", NAME,
        "Who issues its thinking signatures and opaque ids; what one vendor issued goes to no other (G6).",
        "思考签名与不透明 id 的签发者；一家签发的不会发给另一家（G6）。").default_is("the host"),
    key(Group::Provider, "api_key_env", Kind::Variable,
        "The environment variable that holds the key.", "存放密钥的环境变量名。"),
    key(Group::Provider, "api_key_file", Kind::Path,
        "A file that holds the key alone, readable by its owner only.", "只存放密钥的文件，仅属主可读。"),
    key(Group::Provider, "api_key", Kind::Secret,
        "The key itself; better kept out of this file.", "密钥本身；最好不要写在本文件里。"),
    key(Group::Provider, "http2", Kind::Bool,
        "Whether HTTP/2 may be used (G14).", "是否可用 HTTP/2（G14）。").default_is("false"),
    key(Group::Provider, "proxy", Kind::Proxy,
        "A proxy for this provider, before those that `HTTPS_PROXY` and its kin name; loopback is never reached through one (G14).",
        "该提供方所用代理，先于 `HTTPS_PROXY` 等变量；本机回环地址从不走代理（G14）。"),
    key(Group::Provider, "headers", Kind::SecretPairs,
        "Further headers; their values are kept like keys.", "附加的请求头；其值按密钥对待。").default_is("{}"),
    key(Group::Provider, "stream_usage", Kind::Bool,
        "Whether `stream_options.include_usage` may be asked for.", "是否可请求 `stream_options.include_usage`。").default_is("true"),
    key(Group::Provider, "drop_fields", Kind::Texts,
        "Top-level members of a request that it refuses and that are taken out.", "它不接受、需要去掉的请求顶层字段。").default_is("[]"),
    key(Group::Provider, "allow_link_local", Kind::Bool,
        "Whether its address may be link-local or a cloud's metadata service (G9).",
        "地址是否可为链路本地或云元数据服务（G9）。").default_is("false"),
    key(Group::Provider, "models", Kind::Texts,
        "Models that are known without asking.", "无需询问即已知的模型。").default_is("[]"),

    key(Group::Queue, "name", NAME,
        "The name that people see; renaming keeps the id (R1).", "显示给人看的名称；改名不改 id（R1）。").default_is("the id"),
    key(Group::Queue, "candidates", Kind::Candidates,
        "In the order in which they are tried: `\"provider/model\"`, a table with a `route`, or one text with a candidate a line (R2).",
        "按尝试顺序排列：`\"provider/model\"`、带 `route` 的表，或每行一个候选的一段文本（R2）。").default_is("[]"),

    key(Group::Direct, "fallbacks", Kind::Texts,
        "Who is asked, in order, after the model that was asked for: `\"provider/model\"`, none of them twice. It takes a policy that moves on, such as `chain` (C1, C2); empty, a call passes as it is (C8).",
        "所请求的模型之后按序尝试的备用：`\"provider/model\"`，不得重复。需要会换候选的策略，如 `chain`（C1、C2）；为空时请求原样放行（C8）。").default_is("[]"),

    key(Group::Candidate, "route", Kind::Text { max_chars: 300 },
        "`provider/model`.", "`provider/model`。").default_is("required"),
    key(Group::Candidate, "effort", NAME,
        "The effort that is sent, if the model knows it (R35).", "发送的思考强度，模型认识才发（R35）。").default_is("the client's, where the model knows it"),
    key(Group::Candidate, "effort_levels", Kind::Texts,
        "The levels that the model knows, where the catalog does not say (R35).", "模型认识的思考强度，目录中没有时填写（R35）。").default_is("[]"),
    key(Group::Candidate, "context_window", Kind::Integer { min: 1_000, max: 100_000_000 },
        "The context window in tokens (R36).", "上下文窗口，以词元计（R36）。").default_is("the catalog's"),
    key(Group::Candidate, "max_tokens", Kind::Integer { min: 1, max: 100_000_000 },
        "More output tokens than this are not asked for.", "请求的输出词元数不超过此值。").default_is("none"),
    key(Group::Candidate, "max_sessions", Kind::Integer { min: 1, max: 16 },
        "How many sessions may hold a seat; unset is no cap (R24).", "可占席位的会话数；不填即不限（R24）。").default_is("none"),
    key(Group::Candidate, "max_in_flight", Kind::Integer { min: 1, max: 1_000 },
        "How many calls may run at once; unset is no cap (R24).", "可同时进行的请求数；不填即不限（R24）。").default_is("none"),
];
