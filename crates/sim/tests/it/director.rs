//! Acts by what is asked, and everything that is said.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ekiden_sim::{Act, Asked, Director, End, How, Upstream};
use serde_json::Value;

use crate::client::{Rig, Way};

/// Answers with the model's name, and keeps what went out.
#[derive(Debug, Default)]
struct Echo {
    said: Mutex<BTreeMap<usize, Vec<u8>>>,
    ends: Mutex<Vec<(usize, How)>>,
}

impl Director for Echo {
    fn act(&self, asked: &Asked<'_>) -> Act {
        let body: Value = serde_json::from_slice(asked.body).unwrap();
        assert!(asked.path.starts_with("/v1/") && asked.headers.contains(&trace()));
        Act::text(body["model"].as_str().unwrap())
    }

    fn says(&self, number: usize, part: &[u8]) {
        self.said.lock().unwrap().entry(number).or_default().extend_from_slice(part);
    }

    fn ended(&self, number: usize, end: End) {
        self.ends.lock().unwrap().push((number, end.how));
    }
}

fn trace() -> (String, String) {
    ("x-trace".to_owned(), "One".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_director_sees_what_is_asked_and_hears_what_is_said() {
    let echo = Arc::new(Echo::default());
    let mut rig = Rig::of(Upstream::directed(Arc::clone(&echo) as Arc<dyn Director>));
    for (number, way) in Way::ALL.into_iter().enumerate() {
        for model in ["sim-a", "sim-b"] {
            let mut body = way.body();
            body["model"] = model.into();
            let reply = rig.send(&way.request_of(&body)).await;
            assert_eq!(reply.said(way).text, model);
            let number = number * 2 + usize::from(model == "sim-b");
            rig.until(|log| log.requests[number].end.is_some()).await;
            assert_eq!(echo.said.lock().unwrap()[&number], reply.body);
        }
    }
    let ends = echo.ends.lock().unwrap();
    assert_eq!(*ends, (0..8).map(|number| (number, How::Whole)).collect::<Vec<_>>());
}
