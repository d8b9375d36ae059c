//! The scripted models and the gateway before them. It refuses to touch anything of the user's: free
//! ports of loopback, a configuration of its own, no environment.

use ekiden_config::{Config, FixedEnv};
use ekiden_gateway::Running;
use ekiden_sim::{Script, Upstream};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::language::Language;
use crate::serve;
use crate::terminal::Terminal;

/// The queue that Chat clients ask.
pub(super) const CHAT_QUEUE: &str = "demo";
/// The queue that Anthropic clients ask.
pub(super) const ANTHROPIC_QUEUE: &str = "demo-anthropic";

/// Everything that runs.
pub(super) struct Stage {
    pub(super) gateway: Running,
    /// They end with it.
    #[expect(dead_code, reason = "held, so that the models live as long as the stage")]
    upstreams: JoinSet<()>,
}

/// How fast the models speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// So that somebody can watch.
    Watchable,
    /// Nobody watches.
    Brisk,
}

impl Pace {
    const fn ms(self, ms: u64) -> u64 {
        match self {
            Self::Watchable => ms,
            Self::Brisk => ms / 10,
        }
    }
}

impl Stage {
    /// Starts the models, then the gateway.
    ///
    /// # Errors
    /// When no port can be had.
    pub(super) async fn set(terminal: &Terminal, pace: Pace) -> Result<Self, Failure> {
        let mut upstreams = JoinSet::new();
        let mut text = head(pace);
        for (name, dialect, script) in scripts(terminal.language, pace) {
            let script: Script = script.parse().map_err(|error| Failure::Trouble {
                message: format!("{name}: {error}"),
                hint: None,
            })?;
            let (listener, address) = Upstream::bind().await?;
            upstreams.spawn(Upstream::new(script).run(listener, std::future::pending()));
            let version = if dialect == "openai-chat" { "/v1" } else { "" };
            text.push_str(&format!(
                "[providers.{name}]\nbase_url = \"http://{address}{version}\"\ndialect = \"{dialect}\"\n"
            ));
        }
        let env = FixedEnv::new();
        let loaded = Config::parse(&text, "demo", &env)
            .map_err(|problems| Failure::Usage(problems.to_string()))?;
        let gateway = serve::start(terminal, loaded.config, &env).await?;
        Ok(Self { gateway, upstreams })
    }
}

fn head(pace: Pace) -> String {
    // Not shorter for anybody: a busy machine must not make a sound model look silent.
    let silence = 1_500;
    format!(
        "listen = \"127.0.0.1:0\"\n\
         [defaults]\nretry_pause = \"{pause}ms\"\n\
         headers_timeout = \"{silence}ms\"\nfirst_byte_timeout = \"{silence}ms\"\n\
         [queues.{CHAT_QUEUE}]\ncandidates = [\"acme/grand\", \"borealis/swift\", \"cirrus/deep\", \"delta/steady\"]\n\
         [queues.{ANTHROPIC_QUEUE}]\ncandidates = [\"echo/calm\"]\n",
        pause = pace.ms(250),
    )
}

/// Name, dialect and script of each model.
fn scripts(language: Language, pace: Pace) -> [(&'static str, &'static str, String); 5] {
    let Texts { thought, answers, calm } = match language {
        Language::English => &ENGLISH,
        Language::Chinese => &CHINESE,
    };
    let (first, word) = (pace.ms(300), pace.ms(90));
    let said: Vec<String> =
        answers.iter().map(|text| format!("ok:{text} | first:{first} | drip:{word}")).collect();
    [
        ("acme", "openai-chat", "quota".to_owned()),
        ("borealis", "openai-chat", "hang".to_owned()),
        ("cirrus", "openai-chat", format!("think:{thought} | drip:{} | cut:4", pace.ms(150))),
        ("delta", "openai-chat", format!("cycle: {}", said.join("; "))),
        (
            "echo",
            "anthropic-messages",
            format!("cycle: 429:1; ok:{calm} | first:{first} | drip:{word}"),
        ),
    ]
}

struct Texts {
    thought: &'static str,
    answers: [&'static str; 2],
    calm: &'static str,
}

// One word is one chunk; `;` and `|` are the script's own.
static ENGLISH: Texts = Texts {
    thought: "Let me think about who is still on the road",
    answers: [
        "In an ekiden the sash goes from runner to runner. Three of them could not go on, so the \
         sash came to me, and I bring it home.",
        "I do, since I ran well: this session stays with me and leaves the other three alone for now.",
    ],
    calm: "A second was all that I needed. It was waited for, and the same request came again: no \
           handover, nothing lost.",
};

static CHINESE: Texts = Texts {
    thought: "让我 想想 还有 谁 在 路上",
    answers: [
        "驿传 接力赛里， 襷带 由一位 跑者 交给 下一位。 前面 三位 跑不动了， 襷带 到了 我手里， 由我 送到 终点。",
        "还是我。 刚才 我跑得好， 这个会话 就留在 我这里， 暂时 不再 打扰 另外三位。",
    ],
    calm: "我只要 一秒钟。 网关 等了一秒， 把同样的 请求 又发来 一次： 没有 换人， 什么 也没丢。",
};
