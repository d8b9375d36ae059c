//! What people do to a running engine: let go, end, configure, restart.

use ekiden_engine::history::{
    continuation_line, continue_due_line, continue_line, pause_line, probed_line, resume_line,
    sub_agent_line, turn_ended_line, turn_started_line,
};
use ekiden_engine::{TurnEnd, TurnStart, Whose};

use super::*;

impl World {
    pub(super) fn release(&mut self, kind: u64, pick: u64) -> Result {
        let session = SessionId(pick % 6);
        let route = RouteId((pick >> 8) as u32 % ROUTES as u32);
        let queue = ekiden_engine::QueueId((pick >> 16) as u32 % 3);
        let release = match kind {
            0 | 1 => Release::Session(session),
            2 | 3 => Release::Place(Place { session, queue, route }),
            4..7 => Release::Route(route),
            _ => Release::All,
        };
        self.line(&release_line(release));
        self.engine.release(release);
        self.reference.release(release);
        self.attend()
    }

    pub(super) fn end_session(&mut self, session: SessionId) -> Result {
        self.line(&end_line(self.now, session));
        self.engine.end_session(self.now, session);
        self.reference.end_session(self.now, session);
        self.attend()
    }

    /// The routes of a queue that a number names, a bit each.
    pub(super) fn broke(&self, queue: usize, tried: u64) -> Vec<RouteId> {
        let routes = self.scene.queues[queue].candidates.iter().map(|c| c.route).enumerate();
        routes.filter(|(index, _)| tried >> index & 1 == 1).map(|(_, route)| route).collect()
    }

    pub(super) fn probed(&mut self, pick: u64, what: What) -> Result {
        let Some(index) = some(pick, self.scene.queues.len()) else { return Ok(()) };
        let queue = Arc::clone(&self.scene.queues[index]);
        let Some(at) = some(pick >> 8, queue.candidates.len()) else { return Ok(()) };
        let route = queue.candidates[at].route;
        let failure = inputs(what, self.now).into_iter().find_map(|input| match input {
            AttemptInput::Failed { failure, .. } => Some(failure),
            AttemptInput::Sent
            | AttemptInput::Head
            | AttemptInput::Chunk { .. }
            | AttemptInput::Malformed { .. }
            | AttemptInput::End { .. }
            | AttemptInput::Unserved => None,
        });
        self.line(&probed_line(self.now, queue.id, route, failure));
        self.engine.probed(self.now, &queue.policy, route, failure);
        self.reference.probed(self.now, &queue.policy, route, failure);
        self.attend()
    }

    pub(super) fn pause(&mut self, pick: u64) -> Result {
        let whose = match pick % 12 {
            session @ 0..6 => Whose::Session(SessionId(session)),
            _ => Whose::All,
        };
        if pick >> 8 & 1 == 0 {
            self.line(&pause_line(whose));
            self.engine.pause(whose);
            self.reference.pause(whose);
        } else {
            self.line(&resume_line(whose));
            self.engine.resume(whose);
            self.reference.resume(whose);
        }
        self.attend()
    }

    pub(super) fn turns(&mut self, pick: u64, kind: u64) -> Result {
        let (now, session) = (self.now, SessionId(pick % 6));
        let said = match kind % 16 {
            0 => {
                self.line(&sub_agent_line(now, session));
                self.engine.mark_sub_agent(now, session);
                self.reference.mark_sub_agent(session);
                None
            }
            1 | 2 => {
                let start = if kind & 16 == 0 { TurnStart::User } else { TurnStart::Continued };
                self.line(&turn_started_line(now, session, start));
                self.engine.turn_started(now, session, start);
                self.reference.turn_started(session, start);
                None
            }
            3 => {
                let settings = scene::continuation(&mut Rng::new(pick));
                self.line(&continuation_line(&settings));
                self.engine.set_continuation(settings);
                self.reference.set_continuation(settings);
                None
            }
            4..9 => {
                self.line(&continue_due_line(now, session));
                let said = self.engine.continue_due(now, session);
                Some((said, self.reference.continue_due(now, session)))
            }
            _ => {
                let end = match kind >> 8 & 7 {
                    0 => TurnEnd::Completed,
                    1 => TurnEnd::Stopped,
                    2 => TurnEnd::MissingAdapter,
                    3..5 => TurnEnd::Truncated,
                    _ => TurnEnd::Failed(Class::ALL[(kind >> 16) as usize % Class::ALL.len()]),
                };
                self.line(&turn_ended_line(now, session, end));
                let said = self.engine.turn_ended(now, session, end);
                Some((said, self.reference.turn_ended(now, session, end)))
            }
        };
        if let Some((said, rules)) = said {
            if said != rules {
                return Err(Breach(format!(
                    "{session:?}: the rules: {rules:?}, the engine: {said:?}"
                )));
            }
            self.say(&continue_line(session, said));
        }
        self.attend()
    }

    pub(super) fn configure(&mut self, pick: u64, seed: u64) -> Result {
        let Some(index) = some(pick, self.scene.queues.len()) else { return Ok(()) };
        let old = Arc::clone(&self.scene.queues[index]);
        let new = Arc::new(scene::queue(&mut Rng::new(seed), old.id));
        self.line(&queue_line(&new));
        self.scene.queues[index] = Arc::clone(&new);
        for candidate in &old.candidates {
            if new.candidates.iter().all(|other| other.route != candidate.route) {
                self.line(&leave_line(self.now, old.id, candidate.route));
                self.engine.leave_queue(self.now, old.id, candidate.route);
                self.reference.leave_queue(self.now, old.id, candidate.route);
                self.attend()?;
            }
        }
        Ok(())
    }

    pub(super) fn restart(&mut self) {
        self.line(&restart_line(self.day));
        self.engine = Engine::new(self.day);
        self.reference = Reference::new(self.day);
        self.calls.clear();
        self.wants.clear();
        self.lost.clear();
        self.pending.clear();
        for fact in self.disk.clone() {
            self.line(&recall_line(self.now, &fact));
            self.engine.recall(self.now, &fact);
            self.reference.recall(self.now, &fact);
        }
    }
}
