//! The engine under test.

use crate::outcome::{Ran, Snapshot, Streamed};
use crate::script::{Config, Mode};
use crate::subject::{Answered, ByHand, Engine, Input, Listed, Place, Query, Refusal, Setup};

#[derive(Debug)]
pub(crate) struct Subject;

fn missing<T>() -> Answered<T> {
    Err(Refusal::Broken("the engine is not connected yet".to_owned()))
}

impl Engine for Subject {
    type Point = ();

    async fn open(_setup: Setup) -> Answered<Self> {
        missing()
    }

    async fn restart(&mut self) -> Answered<()> {
        missing()
    }

    async fn invoke(&mut self, _place: &Place<()>, _input: Input, _config: &Config) -> Answered<Ran> {
        missing()
    }

    async fn stream(
        &mut self,
        _place: &Place<()>,
        _input: Input,
        _config: &Config,
        _modes: &[Mode],
        _subgraphs: bool,
    ) -> Answered<Streamed> {
        missing()
    }

    async fn get_state(&mut self, _place: &Place<()>, _subgraphs: bool) -> Answered<(Snapshot, ())> {
        missing()
    }

    async fn history(&mut self, _place: &Place<()>, _query: &Query<()>) -> Answered<Vec<Listed<()>>> {
        missing()
    }

    async fn subgraph(&mut self, _place: &Place<()>, _path: &[String]) -> Answered<Option<()>> {
        missing()
    }

    async fn update(&mut self, _place: &Place<()>, _update: ByHand) -> Answered<()> {
        missing()
    }

    async fn bulk_update(&mut self, _place: &Place<()>, _supersteps: Vec<Vec<ByHand>>) -> Answered<()> {
        missing()
    }
}
