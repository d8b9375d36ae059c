//! Whoever changes settings while calls run, and whoever pulls the plug. It remembers what was
//! acknowledged, and asks for it when the process is back.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::clock;
use crate::dice::Dice;
use crate::judge::Rule;
use crate::report::say;
use crate::world::{Era, World};

/// How soon an edit must hold; the file is looked at every second.
const EDIT_WAIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Quarantines that are older are on the disk (G12), with as much for a slow machine.
const KEPT_AFTER_MS: u64 = 2_000;
/// How many lost quarantines are named.
const NAMED_MAX: usize = 3;
const PATH: &str = "defaults.retries";

pub(crate) struct Desk {
    world: Arc<World>,
    seed: u64,
    /// The value that was acknowledged last. Held while somebody edits or kills.
    acknowledged: Mutex<u64>,
}

impl Desk {
    pub(crate) fn new(world: Arc<World>, seed: u64) -> Arc<Self> {
        Arc::new(Self { world, seed, acknowledged: Mutex::new(2) })
    }

    /// Edits until the run is over.
    pub(crate) async fn edit(self: Arc<Self>) {
        let mut dice = Dice::of(self.seed, &[4]);
        let mut edits = 0_u64;
        while !self.world.is_over() {
            tokio::time::sleep(Duration::from_millis(dice.between(500, 2_500))).await;
            let mut acknowledged = self.acknowledged.lock().await;
            if self.world.is_over() {
                break;
            }
            let edited = match dice.below(6) {
                0 => self.by_file(&mut acknowledged).await.context("an edit of the file"),
                1 => self.by_interface(&mut acknowledged).await.context("an edit by the interface"),
                2 => self.badly(*acknowledged).await.context("a bad edit of the file"),
                3 => self.queue_comes_and_goes().await.context("a queue that comes and goes"),
                4 => self.release(&json!({ "all": true })).await.context("a release of all"),
                _ => self.end_session(&mut dice).await.context("the end of a session"),
            };
            edits += 1;
            if let Err(error) = edited {
                self.world.report.wrong(Rule::Steady, format!("{error:#}"));
            }
        }
        self.world.report.figure("edits and releases meanwhile", edits.to_string());
    }

    /// `kill -9`, and what must be there afterwards.
    pub(crate) async fn kill(&self) -> anyhow::Result<()> {
        let acknowledged = self.acknowledged.lock().await;
        let admin = self.world.admin();
        let before = admin.read("/api/v1/state").await?;
        let Era { number, .. } = self.world.era();
        self.world.set_era(Era { number, up: false });
        let mut gateway = self.world.gateway.lock().await;
        gateway.kill()?;
        let down = clock::now();
        gateway.start().await?;
        drop(gateway);
        say(&format!("         killed; up again after {:.1?}", down.elapsed()));
        let after = admin.read("/api/v1/state").await?;
        let lifted = admin.read("/api/v1/journal?what=lifted&limit=2000").await;
        self.quarantines(&before, &after, lifted.ok().as_ref());
        let value = self.setting().await?;
        if value != *acknowledged {
            let text = format!("{PATH} is {value}, acknowledged was {acknowledged}");
            self.world.report.wrong(Rule::Durable, text);
        }
        self.world.set_era(Era { number: number + 1, up: true });
        Ok(())
    }

    fn quarantines(&self, before: &Value, after: &Value, lifted: Option<&Value>) {
        let now_ms = before["now_ms"].as_u64().unwrap_or_default();
        let kept = quarantined(after);
        let entries = lifted.and_then(|lifted| lifted["entries"].as_array());
        let entries: Vec<&Value> = entries.into_iter().flatten().collect();
        let mut looked_at = 0;
        let mut lost = Vec::new();
        for out in quarantined(before) {
            if out.since_ms + KEPT_AFTER_MS > now_ms {
                continue;
            }
            looked_at += 1;
            let same = |other: &Out| other.place == out.place;
            let was_lifted = entries.iter().any(|entry| {
                let place = [&entry["session"], &entry["queue"], &entry["route"]];
                place.map(|part| part.as_str().unwrap_or_default())
                    == out.place.each_ref().map(String::as_str)
                    && entry["at_ms"].as_u64().unwrap_or_default() + KEPT_AFTER_MS >= now_ms
            });
            if !kept.iter().any(same) && !was_lifted {
                let age_ms = now_ms - out.since_ms;
                lost.push(format!("{:?}, {age_ms} ms old", out.place));
            }
        }
        let newest = |all: &[Out]| {
            let newest = all.iter().map(|out| out.since_ms).max();
            newest.map_or(u64::MAX, |newest| now_ms.saturating_sub(newest))
        };
        let all = quarantined(before);
        let back = kept.iter().filter(|out| !all.iter().any(|other| other.place == out.place));
        let text = format!(
            "{looked_at} of {} quarantines looked for; {} there, the newest {} ms old (was {} ms), {} \
             that had been lifted",
            all.len(),
            kept.len(),
            newest(&kept),
            newest(&all),
            back.count()
        );
        say(&format!("         {text}"));
        if !lost.is_empty() {
            let named = lost[..lost.len().min(NAMED_MAX)].join("; ");
            let text = format!("{} are gone ({text}): {named}", lost.len());
            self.world.report.wrong(Rule::Durable, text);
        }
    }

    async fn by_file(&self, acknowledged: &mut u64) -> anyhow::Result<()> {
        let value = (*acknowledged + 1) % 4;
        let file = self.world.gateway.lock().await.file.clone();
        let text = fs::read_to_string(&file)?;
        let changed = with_retries(&text, value).context("the file has lost its retries")?;
        ensure!(text.starts_with("# kept by"), "the file has lost its comment");
        // As editors do it: a new file in the place of the old one.
        let new = file.with_extension("new");
        fs::write(&new, changed)?;
        fs::rename(&new, &file)?;
        self.holds(value).await?;
        *acknowledged = value;
        Ok(())
    }

    async fn by_interface(&self, acknowledged: &mut u64) -> anyhow::Result<()> {
        let value = (*acknowledged + 1) % 4;
        let admin = self.world.admin();
        let hash = self.hash().await?;
        let change = json!({ "changes": [{ "do": "set", "path": PATH, "value": value }] });
        let reply = admin.ask("PATCH", "/api/v1/settings", Some(&hash), Some(&change)).await?;
        ensure!(reply.status == 200, "{}: {}", reply.status, reply.json);
        *acknowledged = value;
        self.holds(value).await
    }

    /// The last good settings hold, and it is said that they do.
    async fn badly(&self, acknowledged: u64) -> anyhow::Result<()> {
        let file = self.world.gateway.lock().await.file.clone();
        let text = fs::read_to_string(&file)?;
        fs::write(&file, format!("{text}\nnonsense = = 1\n"))?;
        let refused = self.until(|settings| !is_empty(&settings["refused"])).await;
        let value = self.setting().await;
        fs::write(&file, text)?;
        refused.context("it does not say that it refuses the file")?;
        let value = value?;
        ensure!(value == acknowledged, "{PATH} was {acknowledged}, and is {value} now");
        self.until(|settings| is_empty(&settings["refused"])).await
    }

    async fn queue_comes_and_goes(&self) -> anyhow::Result<()> {
        let admin = self.world.admin();
        let queue = json!({ "name": "For a moment", "id": "moment", "routes": ["chat-3/m"] });
        let made = admin.ask("POST", "/api/v1/queues", None, Some(&queue)).await?;
        ensure!(made.status == 201, "making it: {} {}", made.status, made.json);
        let gone = admin.ask("DELETE", "/api/v1/queues/moment?candidates=1", None, None).await?;
        ensure!(
            gone.status == 200 || gone.status == 204,
            "deleting it: {} {}",
            gone.status,
            gone.json
        );
        Ok(())
    }

    async fn release(&self, what: &Value) -> anyhow::Result<()> {
        let reply = self.world.admin().ask("POST", "/api/v1/release", None, Some(what)).await?;
        ensure!(reply.status == 200, "{}: {}", reply.status, reply.json);
        Ok(())
    }

    async fn end_session(&self, dice: &mut Dice) -> anyhow::Result<()> {
        let state = self.world.admin().read("/api/v1/sessions?limit=50").await?;
        let sessions = state["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let named: Vec<&Value> =
            sessions.iter().filter(|session| session["background"] == false).collect();
        if named.is_empty() {
            return Ok(());
        }
        let key = dice.pick(&named)["key"].as_str().unwrap_or_default();
        let path = format!("/api/v1/sessions/{key}/end");
        let reply = self.world.admin().ask("POST", &path, None, None).await?;
        // It may have been forgotten meanwhile.
        ensure!(matches!(reply.status, 200 | 404), "{}: {}", reply.status, reply.json);
        Ok(())
    }

    async fn holds(&self, value: u64) -> anyhow::Result<()> {
        let wanted = value.to_string();
        self.until(|settings| shown(settings).is_some_and(|shown| shown == wanted))
            .await
            .with_context(|| format!("{PATH} does not become {value}"))
    }

    async fn until(&self, wished: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        let begun = clock::now();
        loop {
            if wished(&self.world.admin().read("/api/v1/settings").await?) {
                return Ok(());
            }
            ensure!(begun.elapsed() < EDIT_WAIT, "not within {EDIT_WAIT:?}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn setting(&self) -> anyhow::Result<u64> {
        let settings = self.world.admin().read("/api/v1/settings").await?;
        Ok(shown(&settings).context("the setting is not shown")?.parse()?)
    }

    async fn hash(&self) -> anyhow::Result<String> {
        let settings = self.world.admin().read("/api/v1/settings").await?;
        Ok(settings["hash"].as_str().context("no hash")?.to_owned())
    }
}

/// A quarantine.
#[derive(Debug)]
struct Out {
    place: [String; 3],
    since_ms: u64,
}

fn quarantined(state: &Value) -> Vec<Out> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for session in state["sessions"].as_array().into_iter().flatten() {
        for out in session["quarantined"].as_array().into_iter().flatten() {
            all.push(Out {
                place: [text(&session["key"]), text(&out["queue"]), text(&out["route"])],
                since_ms: out["since_ms"].as_u64().unwrap_or_default(),
            });
        }
    }
    all
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

/// The setting's value as text.
fn shown(settings: &Value) -> Option<String> {
    let all = settings["settings"].as_array()?;
    let value = &all.iter().find(|setting| setting["path"] == PATH)?["value"];
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The file's text with another value in `[defaults]`.
fn with_retries(text: &str, value: u64) -> Option<String> {
    let at = text.find("\nretries = ")? + "\nretries = ".len();
    let end = at + text[at..].find('\n')?;
    Some(format!("{}{value}{}", &text[..at], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_of_the_file_is_changed() {
        let text = "# a\n[defaults]\nretries = 2\nwait = 3\n";
        assert_eq!(
            with_retries(text, 0).as_deref(),
            Some("# a\n[defaults]\nretries = 0\nwait = 3\n")
        );
        assert_eq!(with_retries("# a\n", 0), None);
    }
}
