//! What is measured, and against what: the gateway as people start it, nginx as a plain reverse
//! proxy, and nothing in between. It tunes nobody: the gateway runs with its default settings,
//! nginx with what a reverse proxy with keep-alive needs.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::clock;
use crate::drive::Control;
use crate::process::Process;
use crate::script::{Request, Script};

/// How long a system may take until it answers.
const START_WAIT: Duration = Duration::from_secs(10);
/// Between two looks whether it answers.
const START_LOOK: Duration = Duration::from_micros(200);

/// The variable that holds the providers' key.
const KEY: &str = "EKIDEN_BENCH_KEY";

/// Candidates of the long queue.
pub(crate) const MANY_CANDIDATES: usize = 50;

/// Where things are.
pub(crate) struct Places {
    /// This program.
    pub(crate) bench: PathBuf,
    /// The gateway's program.
    pub(crate) ekiden: PathBuf,
    /// A folder for everything that is written.
    pub(crate) folder: PathBuf,
}

/// The scripted upstream and the connection that keeps it running.
pub(crate) struct Upstream {
    pub(crate) good: SocketAddr,
    pub(crate) failing: SocketAddr,
    pub(crate) control: Control,
    process: Process,
}

impl Upstream {
    pub(crate) fn start(places: &Places) -> anyhow::Result<Self> {
        let mut child = Command::new(&places.bench)
            .arg("upstream")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the upstream")?;
        let out = child.stdout.take().context("the upstream has no output")?;
        let process = Process::of("the upstream", child);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let mut ports = line.split_whitespace().filter_map(|word| word.parse().ok());
        let (Some(good), Some(failing)) = (ports.next(), ports.next()) else {
            bail!("the upstream named no ports: {line:?}")
        };
        let (good, failing) = (loopback(good), loopback(failing));
        Ok(Self { good, failing, control: Control::open(good)?, process })
    }

    pub(crate) fn still_runs(&mut self) -> anyhow::Result<()> {
        self.process.still_runs()
    }
}

/// Who stands between driver and upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Nothing,
    Nginx,
    Ekiden,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Nginx, Self::Ekiden];
    pub(crate) const PROXIES: [Self; 2] = [Self::Nginx, Self::Ekiden];

    /// A call that is answered by this script.
    pub(crate) fn request(self, script: Script) -> Request {
        let name = script.name();
        match self {
            Self::Nothing | Self::Nginx => Request::new(&format!("/{name}/v1"), "m", script),
            Self::Ekiden => Request::new("/v1", name, script),
        }
    }

    /// A call whose first candidate fails at once, and whose second is good.
    pub(crate) fn failover(self) -> Request {
        match self {
            Self::Nothing | Self::Nginx => Request::new("/relay/plain/v1", "m", Script::Plain),
            Self::Ekiden => Request::new("/v1", "relay", Script::Plain),
        }
    }
}

/// A system that runs and has answered once.
pub(crate) struct System {
    pub(crate) addr: SocketAddr,
    pub(crate) process: Process,
    /// From the start of its process to its first whole answer.
    pub(crate) started_in: Duration,
}

impl System {
    pub(crate) fn nginx(places: &Places, upstream: &Upstream) -> anyhow::Result<Self> {
        let folder = fresh(places, "nginx")?;
        let addr = free_port()?;
        fs::write(folder.join("nginx.conf"), nginx_conf(addr, upstream))?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&folder).args(["-c", "nginx.conf", "-e", "error.log"]);
        Self::start(Kind::Nginx, addr, &mut command, &folder)
    }

    pub(crate) fn ekiden(places: &Places, upstream: &Upstream, name: &str) -> anyhow::Result<Self> {
        let folder = fresh(places, name)?;
        let addr = free_port()?;
        let file = folder.join("ekiden.toml");
        fs::write(&file, ekiden_toml(addr, upstream, &folder.join("state")))?;
        let mut command = Command::new(&places.ekiden);
        command.args(["serve", "--config"]).arg(&file);
        command.env(KEY, "bench");
        for variable in ["EKIDEN_CONFIG", "EKIDEN_LISTEN", "EKIDEN_LOG", "EKIDEN_STATE_DIR"] {
            command.env_remove(variable);
        }
        Self::start(Kind::Ekiden, addr, &mut command, &folder)
    }

    fn start(
        kind: Kind,
        addr: SocketAddr,
        command: &mut Command,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let log = folder.join("output.log");
        let name = if kind == Kind::Nginx { "nginx" } else { "ekiden" };
        let request = kind.request(Script::Plain);
        let begun = clock::now();
        let mut process = Process::start(name, command, &log)?;
        loop {
            if answers(addr, &request) {
                let started_in = begun.elapsed();
                return Ok(Self { addr, process, started_in });
            }
            let said = || fs::read_to_string(&log).unwrap_or_default();
            process.still_runs().with_context(said)?;
            ensure!(begun.elapsed() < START_WAIT, "{name} does not answer: {}", said());
            clock::pause(START_LOOK);
        }
    }
}

/// Whether a call is answered well.
fn answers(addr: SocketAddr, request: &Request) -> bool {
    let Ok(mut stream) = TcpStream::connect(addr) else { return false };
    let waits = stream.set_read_timeout(Some(START_WAIT));
    if waits.is_err() || stream.write_all(&request.bytes).is_err() {
        return false;
    }
    let mut start = [0; 15];
    stream.read_exact(&mut start).is_ok() && start == *b"HTTP/1.1 200 OK"
}

pub(crate) const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port)
}

/// A port that nobody listens on. Somebody could take it before the system does; then the system
/// says so and the run ends.
fn free_port() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind(loopback(0))?.local_addr()?)
}

fn fresh(places: &Places, name: &str) -> anyhow::Result<PathBuf> {
    let folder = places.folder.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

fn nginx_conf(addr: SocketAddr, upstream: &Upstream) -> String {
    let Upstream { good, failing, .. } = upstream;
    let streams: String = [Script::Short, Script::Burst, Script::Drip, Script::Hold]
        .into_iter()
        .map(|script| {
            format!(
                "    location /{}/ {{ proxy_pass http://good; proxy_buffering off; }}\n",
                script.name()
            )
        })
        .collect();
    format!(
        "daemon off;
worker_processes auto;
pid nginx.pid;
error_log error.log error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 1000000000;
  proxy_http_version 1.1;
  proxy_set_header Connection \"\";
  upstream good {{ server {good}; keepalive 256; keepalive_requests 1000000000; }}
  upstream relay {{
    server {failing} max_fails=0;
    server {good} max_fails=0 backup;
    keepalive 256;
    keepalive_requests 1000000000;
  }}
  server {{
    listen {addr};
    location / {{ proxy_pass http://good; }}
{streams}    location /relay/ {{
      proxy_pass http://relay/;
      proxy_next_upstream error timeout http_500 non_idempotent;
    }}
  }}
}}
"
    )
}

fn ekiden_toml(addr: SocketAddr, upstream: &Upstream, state: &Path) -> String {
    let provider = |id: &str, at: SocketAddr, path: &str| {
        format!(
            "[providers.{id}]\nbase_url = \"http://{at}/{path}/v1\"\ndialect = \"openai-chat\"\napi_key_env = \"{KEY}\"\n\n"
        )
    };
    let queue = |id: &str, routes: &[String]| {
        let routes: Vec<String> = routes.iter().map(|route| format!("\"{route}\"")).collect();
        format!("[queues.{id}]\ncandidates = [{}]\n\n", routes.join(", "))
    };
    let mut text =
        format!("listen = \"{addr}\"\nstate_dir = {:?}\n\n", state.display().to_string());
    for script in Script::ALL {
        text += &provider(script.name(), upstream.good, script.name());
    }
    text += &provider("failing", upstream.failing, "plain");
    for script in Script::ALL {
        text += &queue(script.name(), &[format!("{}/m", script.name())]);
    }
    text += &queue("relay", &["failing/m".to_owned(), "plain/m".to_owned()]);
    let many: Vec<String> = (1..=MANY_CANDIDATES).map(|index| format!("plain/m{index}")).collect();
    text += &queue("many", &many);
    text
}
