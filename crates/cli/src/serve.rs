//! `ekiden serve`: the gateway, from its configuration to its end. It refuses to say less than what
//! the next step is.

mod keeping;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ekiden_config::{
    BaseUrl, Config, Dialect, Env, LOCAL_SERVERS, Language, LoadError, Loaded, LocalServer,
    ProcessEnv, QueuesFrom,
};
use ekiden_gateway::state::{Keeping, Kept};
use ekiden_gateway::{CoreOptions, Gateway, Proxies, Running, StartError, stop_signal};
use serde_json::Value;

use crate::args::ServeArgs;
use crate::check::{self, Source};
use crate::failure::{Ended, Failure};
use crate::http;
use crate::queues::queues;
use crate::terminal::{Ink, Say, Terminal};

/// A server on this machine that does not answer so soon is not there.
const LOCAL_WAIT: Duration = Duration::from_millis(300);

/// One that says more of its models is none: a thousand of them take a tenth of this.
const LOCAL_LIST_MAX_BYTES: usize = 2 << 20;

/// The variable that the option stands in for.
const LISTEN_VARIABLE: &str = "EKIDEN_LISTEN";

/// Starts the gateway and stays until it is told to end.
///
/// # Errors
/// When the configuration cannot be used, or the address cannot be had.
pub(crate) fn run(terminal: &Terminal, args: &ServeArgs) -> Result<Ended, Failure> {
    let env = WithListen { listen: args.listen };
    let loaded = Config::open(args.config.as_deref(), &env).map_err(|error| match args.listen {
        Some(_) => said_by_option(terminal, &error),
        None => check::unusable(terminal, &error),
    })?;
    let kept = keeping::open(terminal, &loaded, &env)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(serve(terminal, loaded, env, &kept));
    // Whoever comes next finds the folder free once nothing of this process writes into it.
    drop(runtime);
    drop(kept);
    ended
}

/// The environment, with `--listen` in the place of its variable.
#[derive(Clone, Copy)]
struct WithListen {
    listen: Option<SocketAddr>,
}

impl Env for WithListen {
    fn var(&self, name: &str) -> Option<String> {
        match self.listen {
            Some(listen) if name == LISTEN_VARIABLE => Some(listen.to_string()),
            Some(_) | None => ProcessEnv.var(name),
        }
    }
}

/// Whoever wrote the option did not write the variable.
fn said_by_option(terminal: &Terminal, error: &LoadError) -> Failure {
    let by_variable = match terminal.language {
        Language::English => format!("environment variable {LISTEN_VARIABLE}"),
        Language::Chinese => format!("环境变量 {LISTEN_VARIABLE}"),
    };
    Failure::Usage(error.say(terminal.language).replace(&by_variable, "--listen"))
}

async fn serve(
    terminal: &Terminal,
    loaded: Loaded,
    env: WithListen,
    kept: &Kept,
) -> Result<Ended, Failure> {
    let found = match loaded.queues {
        QueuesFrom::Surroundings => local_servers(&env, loaded.config.listen).await,
        QueuesFrom::File => Found::default(),
    };
    let loaded = loaded.with_found(|config| found.added_to(config));
    let mut loaded = loaded;
    if loaded.queues == QueuesFrom::Surroundings && loaded.config.providers.is_empty() {
        // That nothing was found is said below, with what to do.
        loaded.warnings.list.retain(|warning| warning.mistake.code() != "no_provider");
    }
    check::warn(terminal, &loaded)?;
    let source = keeping::source(terminal, &loaded, env, move |config| found.added_to(config));
    let options = keeping::options(terminal, kept, source)?;
    let running = start_with(terminal, Arc::clone(&loaded.config), options).await?;
    keeping::announce(kept, running.addr());
    let mut stop = std::pin::pin!(stop_signal());
    // Listened for before anything is said: whoever reads the greeting may end it at once.
    let stopped = tokio::select! {
        biased;
        () = &mut stop => true,
        () = std::future::ready(()) => false,
    };
    match greet(terminal, &loaded, running.addr(), &kept.keeping) {
        Ok(()) | Err(Failure::NobodyReads) => {}
        Err(failure) => return Err(failure),
    }
    if !stopped {
        stop.await;
    }
    // Whoever read the greeting may be gone; calls are ended in order all the same.
    let _ = terminal.line("");
    let _ = terminal.tell(&Stopping(Arc::clone(&loaded.config)));
    running.shutdown_or(stop_signal()).await;
    Ok(Ended::Well)
}

/// Starts the gateway.
///
/// # Errors
/// When its address cannot be had.
pub(crate) async fn start(
    terminal: &Terminal,
    config: Arc<Config>,
    env: &dyn Env,
) -> Result<Running, Failure> {
    let options = CoreOptions { proxies: Proxies::from_env(env), ..CoreOptions::default() };
    start_with(terminal, config, options).await
}

async fn start_with(
    terminal: &Terminal,
    config: Arc<Config>,
    options: CoreOptions,
) -> Result<Running, Failure> {
    Gateway::start(config, options).await.map_err(|error| {
        let hint = Hint(&error);
        Failure::trouble(terminal, &error, Some(&hint))
    })
}

/// Servers on this machine, with their models.
#[derive(Clone, Default)]
pub(crate) struct Found(Vec<Server>);

/// One of them.
#[derive(Clone)]
struct Server {
    known: &'static LocalServer,
    at: BaseUrl,
    models: Vec<String>,
}

impl Found {
    pub(crate) fn added_to(&self, config: Config) -> Config {
        let servers = self.0.iter();
        servers.fold(config, |config, it| config.with_local_server(it.known, &it.at, &it.models))
    }
}

/// Asks the usual servers on this machine, all at once, whether they are there (G8).
pub(crate) async fn local_servers(env: &dyn Env, listen: SocketAddr) -> Found {
    let [first, second] = LOCAL_SERVERS.each_ref().map(|it| found(it, it.address(env, listen)));
    let (first, second) = tokio::join!(first, second);
    Found(first.into_iter().chain(second).collect())
}

async fn found(known: &'static LocalServer, at: Option<BaseUrl>) -> Option<Server> {
    let at = at?;
    let models = models(&at, LOCAL_WAIT).await;
    Some(Server { known, at, models })
}

/// The models of a server on this machine that can answer; none when it is not there, or says more
/// than a list of models is.
async fn models(at: &BaseUrl, limit: Duration) -> Vec<String> {
    let asking = http::get(at.as_str(), "/v1/models", limit, LOCAL_LIST_MAX_BYTES);
    let Ok(answer) = asking.await else {
        return Vec::new();
    };
    let list: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let models = list.get("data").and_then(Value::as_array).into_iter().flatten();
    let ids = models.filter_map(|model| model.get("id").and_then(Value::as_str));
    // Both list models for embeddings too, which answer nothing.
    ids.filter(|id| !id.to_lowercase().contains("embed")).map(str::to_owned).collect()
}

fn greet(
    terminal: &Terminal,
    loaded: &Loaded,
    addr: SocketAddr,
    keeping: &Keeping,
) -> Result<(), Failure> {
    let config = &loaded.config;
    terminal.line(&terminal.ink(Ink::Strong, &terminal.say(&Listens(addr))))?;
    let source = loaded.path.as_deref().map_or(Source::Environment, Source::File);
    terminal.line(&terminal.ink(Ink::Dim, &terminal.say(&From(source))))?;
    let ink = if keeping.folder.is_some() { Ink::Dim } else { Ink::Slow };
    terminal.line(&terminal.ink(ink, &terminal.say(&keeping::Where(keeping))))?;
    terminal.line("")?;
    if config.queues.iter().all(|queue| queue.candidates.is_empty()) {
        let path =
            ekiden_config::paths::config_file(&ProcessEnv, ekiden_config::paths::Platform::here());
        let path = loaded.path.clone().or(path).map(|path| path.display().to_string());
        terminal.tell(&NothingYet { path: path.unwrap_or_else(|| "ekiden.toml".to_owned()) })?;
        return Ok(());
    }
    terminal.line(queues(terminal, config).trim_end())?;
    terminal.line("")?;
    terminal.tell(&Clients { addr, config })?;
    Ok(())
}

struct Listens(SocketAddr);

impl Say for Listens {
    fn english(&self) -> String {
        format!("Ekiden listens on http://{}", self.0)
    }

    fn chinese(&self) -> String {
        format!("Ekiden 监听于 http://{}", self.0)
    }
}

struct From<'a>(Source<'a>);

impl Say for From<'_> {
    fn english(&self) -> String {
        format!("configured by {}", self.0.english())
    }

    fn chinese(&self) -> String {
        format!("配置来自{}", self.0.chinese())
    }
}

/// What to do when there is no candidate.
struct NothingYet {
    path: String,
}

impl Say for NothingYet {
    fn english(&self) -> String {
        format!(
            "There is no model yet. Do one of these:\n  \
             write a file      {}   (it is taken at once)\n  \
             or set a key      {}\n  \
             or watch first    ekiden demo\n\
             Until then every call is told that its queue has no candidates.",
            self.path,
            variable("DEEPSEEK_API_KEY", "sk-…") + "   # or ANTHROPIC_API_KEY, …; then start again",
        )
    }

    fn chinese(&self) -> String {
        format!(
            "还没有模型。请任选其一：\n  \
             写配置文件   {}   （立即生效）\n  \
             设置密钥     {}\n  \
             先看演示     ekiden demo\n\
             在此之前，每次请求都会得知其队列没有候选。",
            self.path,
            variable("DEEPSEEK_API_KEY", "sk-…") + "   # 或 ANTHROPIC_API_KEY 等；然后重新启动",
        )
    }
}

/// How this system's shell sets a variable.
fn variable(name: &str, value: &str) -> String {
    if cfg!(windows) {
        format!("$env:{name} = \"{value}\"")
    } else {
        format!("export {name}={value}")
    }
}

/// What to put into a client.
pub(crate) struct Clients<'a> {
    pub(crate) addr: SocketAddr,
    pub(crate) config: &'a Config,
}

/// Who can reach the gateway.
enum Reach {
    Machine,
    Address,
    Everywhere,
}

impl Clients<'_> {
    fn reach(&self) -> Reach {
        match self.addr.ip() {
            ip if ip.is_loopback() => Reach::Machine,
            ip if ip.is_unspecified() => Reach::Everywhere,
            _ => Reach::Address,
        }
    }

    /// Variables for the dialects that a candidate speaks, and who reads them.
    fn variables(&self) -> Vec<(String, Dialect)> {
        let base = match self.reach() {
            Reach::Machine | Reach::Address => format!("http://{}", self.addr),
            Reach::Everywhere => format!("http://HOST:{}", self.addr.port()),
        };
        let speaks = |dialect| {
            let mut candidates = self.config.queues.iter().flat_map(|queue| &queue.candidates);
            let provider = |id: &str| self.config.provider(id);
            candidates.any(|it| provider(&it.provider).is_some_and(|it| it.dialect == dialect))
        };
        let anthropic = (variable("ANTHROPIC_BASE_URL", &base), Dialect::AnthropicMessages);
        let chat = (variable("OPENAI_BASE_URL", &format!("{base}/v1")), Dialect::OpenAiChat);
        [anthropic, chat].into_iter().filter(|(_, dialect)| speaks(*dialect)).collect()
    }

    fn lines(&self, who: impl Fn(Dialect) -> &'static str) -> String {
        let variables = self.variables();
        let width = variables.iter().map(|(text, _)| text.len()).max().unwrap_or(0);
        let line = |(text, dialect): &(String, Dialect)| {
            format!("  {text:width$}   # {}\n", who(*dialect))
        };
        variables.iter().map(line).collect()
    }

    fn models(&self) -> String {
        let usable = self.config.queues.iter().filter(|queue| !queue.candidates.is_empty());
        usable.map(|queue| queue.id.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Say for Clients<'_> {
    fn english(&self) -> String {
        let who = |dialect| match dialect {
            Dialect::AnthropicMessages => "Claude Code, the anthropic SDKs",
            Dialect::OpenAiChat => "opencode, Qwen Code, aider, the openai SDKs",
            Dialect::OpenAiResponses => "",
        };
        let key = match self.reach() {
            Reach::Machine => "any key will do, it stays here",
            Reach::Address => "a client token is its key",
            Reach::Everywhere => "a client token is its key, this machine's name its HOST",
        };
        format!(
            "Put into your client ({key}):\n{}  model: {}\n\n\
             Then `ekiden why last` tells what became of a call. Ctrl-C ends the gateway.",
            self.lines(who),
            self.models(),
        )
    }

    fn chinese(&self) -> String {
        let who = |dialect| match dialect {
            Dialect::AnthropicMessages => "Claude Code、anthropic SDK",
            Dialect::OpenAiChat => "opencode、Qwen Code、aider、openai SDK",
            Dialect::OpenAiResponses => "",
        };
        let key = match self.reach() {
            Reach::Machine => "密钥任意，不会外传",
            Reach::Address => "密钥填客户端令牌",
            Reach::Everywhere => "密钥填客户端令牌，HOST 换成本机的名称或地址",
        };
        format!(
            "填入客户端（{key}）：\n{}  模型：{}\n\n\
             之后用 `ekiden why last` 查看请求经过。按 Ctrl-C 结束网关。",
            self.lines(who),
            self.models(),
        )
    }
}

struct Stopping(Arc<Config>);

impl Say for Stopping {
    fn english(&self) -> String {
        let span = ekiden_config::show_span_ms(self.0.drain_ms);
        format!("no more calls; open ones may finish for {span}, or ask again to end them now")
    }

    fn chinese(&self) -> String {
        let span = ekiden_config::show_span_ms(self.0.drain_ms);
        format!("不再接受请求；未完成的最多再等 {span}，再次中断则立即结束")
    }
}

impl Say for StartError {
    fn english(&self) -> String {
        let text = self.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::AlreadyRunning { addr, version } => {
                let version = version.as_ref().map_or(String::new(), |it| format!(" {it}"));
                format!("另一个 Ekiden{version} 已在 {addr} 监听")
            }
            Self::PortTaken { addr } => format!("另一个程序已在 {addr} 监听"),
            Self::NotPermitted { addr } => format!("当前用户不能在 {addr} 监听"),
            Self::NoSuchAddress { addr } => format!("本机没有地址 {addr}"),
            Self::NoTokens { addr } => {
                format!("{addr} 可从其他机器访问，而还没有客户端令牌或管理令牌")
            }
            Self::Io { addr, cause } => format!("无法在 {addr} 监听：{cause}"),
            _ => self.english(),
        }
    }
}

/// What to do about an address that cannot be had.
struct Hint<'a>(&'a StartError);

impl Say for Hint<'_> {
    fn english(&self) -> String {
        match self.0 {
            StartError::AlreadyRunning { .. } => {
                "use that one, end it, or start this one with --listen 127.0.0.1:PORT"
            }
            StartError::PortTaken { .. } => {
                "end that program, or start this one with --listen 127.0.0.1:PORT"
            }
            StartError::NotPermitted { .. } => "take a port from 1024 on: --listen 127.0.0.1:8787",
            StartError::NoSuchAddress { .. } => "take a loopback address: --listen 127.0.0.1:8787",
            StartError::NoTokens { .. } => {
                "run: ekiden token new NAME, and with --admin once more; it needs one of each"
            }
            StartError::Io { .. } => "try another address: --listen 127.0.0.1:PORT",
            _ => "try another address: --listen 127.0.0.1:PORT",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self.0 {
            StartError::AlreadyRunning { .. } => {
                "直接使用它、结束它，或用 --listen 127.0.0.1:端口 启动本程序"
            }
            StartError::PortTaken { .. } => "结束那个程序，或用 --listen 127.0.0.1:端口 启动本程序",
            StartError::NotPermitted { .. } => "请用 1024 以上的端口：--listen 127.0.0.1:8787",
            StartError::NoSuchAddress { .. } => "请用本机回环地址：--listen 127.0.0.1:8787",
            StartError::NoTokens { .. } => {
                "请运行：ekiden token new 名称，并加 --admin 再运行一次；两种各需一个"
            }
            StartError::Io { .. } => "换一个地址：--listen 127.0.0.1:端口",
            _ => "换一个地址：--listen 127.0.0.1:端口",
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ekiden_config::FixedEnv;
    use ekiden_sim::{Script, Upstream};
    use tokio::io::AsyncWriteExt;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn g08_a_server_on_this_machine_is_asked_for_its_models() {
        let (listener, address) = Upstream::bind().await.unwrap();
        let upstream = Upstream::new(Script::default());
        upstream.list_models(["qwen3:8b", "nomic-embed-text"]);
        let mut tasks = JoinSet::new();
        tasks.spawn(upstream.run(listener, std::future::pending()));
        let there = BaseUrl::parse(&format!("http://{address}/v1")).unwrap();
        assert_eq!(models(&there, LOCAL_WAIT).await, ["qwen3:8b"]);

        let bare = Config::from_env(&FixedEnv::new()).unwrap().config;
        let env = FixedEnv::from([("OLLAMA_HOST".to_owned(), address.to_string())]);
        let found = local_servers(&env, bare.listen).await;
        let config = found.added_to(Arc::unwrap_or_clone(bare));
        let first = &config.queues[0].candidates[0];
        assert_eq!(first.route(), "ollama/qwen3:8b");

        tasks.shutdown().await;
        assert!(models(&there, LOCAL_WAIT).await.is_empty());
    }

    #[tokio::test]
    async fn g08_a_list_without_end_is_read_up_to_a_bound() {
        let endless = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = BaseUrl::parse(&format!("http://{}/v1", endless.local_addr().unwrap())).unwrap();
        let serving = async {
            let (mut stream, _) = endless.accept().await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"data\": [";
            stream.write_all(head.as_bytes()).await.unwrap();
            let model = "{\"id\": \"m\"},".repeat(1_000);
            let mut sent = 0;
            // Until whoever reads has had enough.
            while stream.write_all(model.as_bytes()).await.is_ok() {
                sent += model.len();
            }
            sent
        };
        let asking = models(&at, Duration::from_secs(3_600));
        let (models, sent) = tokio::join!(asking, serving);
        assert!(models.is_empty());
        // What lies in the buffers of the system was not read.
        assert!(sent < LOCAL_LIST_MAX_BYTES + (32 << 20), "{sent}");
    }

    #[tokio::test]
    async fn g08_a_server_that_says_nothing_is_not_waited_for_beyond_the_limit() {
        // It takes the connection, and that is all.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = BaseUrl::parse(&format!("http://{}/v1", silent.local_addr().unwrap())).unwrap();
        assert!(models(&at, Duration::ZERO).await.is_empty());
    }

    #[test]
    fn g08_only_the_variables_that_a_queue_can_serve_are_shown() {
        let text = "[providers.a]\nbase_url = \"http://127.0.0.1:9\"\n\
                    dialect = \"anthropic-messages\"\n[queues.one]\ncandidates = [\"a/b\"]\n\
                    [queues.two]\n";
        let config = Config::parse(text, "test", &FixedEnv::new()).unwrap().config;
        let shown = Clients { addr: config.listen, config: &config }.english();
        assert!(shown.contains("ANTHROPIC_BASE_URL"), "{shown}");
        assert!(!shown.contains("OPENAI_BASE_URL"), "{shown}");
        assert!(shown.contains("model: one\n") && shown.contains("any key"), "{shown}");
    }

    #[test]
    fn g09_other_machines_are_shown_the_way_in_with_a_token() {
        let text = "[providers.a]\nbase_url = \"http://127.0.0.1:9\"\n\
                    dialect = \"openai-chat\"\n[queues.one]\ncandidates = [\"a/b\"]\n";
        let config = Config::parse(text, "test", &FixedEnv::new()).unwrap().config;
        let shown = |addr: &str| {
            let clients = Clients { addr: addr.parse().unwrap(), config: &config };
            [clients.english(), clients.chinese()]
        };
        for text in shown("0.0.0.0:8787") {
            assert!(text.contains("http://HOST:8787/v1"), "{text}");
            assert!(!text.contains("any key") && !text.contains("任意"), "{text}");
        }
        for text in shown("192.0.2.7:8787") {
            assert!(text.contains("http://192.0.2.7:8787/v1"), "{text}");
        }
    }
}
