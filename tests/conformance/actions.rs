//! The actions of a script: each evaluates its expressions, resolves its references, calls the engine, and returns the
//! result as an outcome.

use serde_json::{Value, json};

use crate::eval::Env;
use crate::expr::Expr;
use crate::outcome::ErrorView;
use crate::python;
use crate::runner::{Play, other};
use crate::script::{Action, Answer, CommandInput, Reference, UpdateWrite, Verb};
use crate::subject::{Engine, HistoryEntry, Input, Place, Query, Refusal, Reply, Resume, RunCommand, StateWrite};
use crate::targets::TargetList;

impl<E: Engine> Play<'_, E> {
    pub(crate) async fn act(&mut self, action: &Action) -> Reply<Value> {
        if action.verb != Verb::Restart {
            let graph = self.latest(action).graph;
            self.engine.build(&graph).await?;
        }
        match action.verb {
            Verb::Invoke => self.invoke(action).await,
            Verb::Stream => self.stream(action).await,
            Verb::GetState => self.get_state(action).await,
            Verb::History => self.history(action).await,
            Verb::Update => self.update(action).await,
            Verb::BulkUpdate => self.bulk_update(action).await,
            Verb::Restart => self.engine.restart().await.map(|()| json!({})),
            Verb::Verify => {
                let verified = self.engine.verify(&self.latest(action)).await?;
                Ok(json!({ "verified": verified.ok_or_else(|| ErrorView::of_kind("empty_input"))? }))
            }
        }
    }

    async fn invoke(&mut self, action: &Action) -> Reply<Value> {
        let input = self.input(action).await?;
        let place = self.place(action).await?;
        let ran = self.engine.invoke(&place, input, &action.config).await?;
        Ok(json!(ran))
    }

    /// A stream that fails to start has no events, but is still a stream.
    async fn stream(&mut self, action: &Action) -> Reply<Value> {
        match self.events(action).await {
            Err(Refusal::Error(error)) => Ok(json!({"events": [], "error": error})),
            streamed => streamed,
        }
    }

    async fn events(&mut self, action: &Action) -> Reply<Value> {
        let input = self.input(action).await?;
        let place = self.place(action).await?;
        let streamed = self.engine.stream(&place, input, &action.config, &action.modes, action.subgraphs).await?;
        let mut outcome = json!({"events": streamed.events});
        if let Some(error) = streamed.error {
            outcome["error"] = json!(error);
        }
        Ok(outcome)
    }

    async fn get_state(&mut self, action: &Action) -> Reply<Value> {
        let place = self.place(action).await?;
        let (snapshot, point) = self.engine.get_state(&place, action.subgraphs).await?;
        self.save(action, point);
        Ok(json!({"state": snapshot}))
    }

    async fn history(&mut self, action: &Action) -> Reply<Value> {
        let before = match &action.before {
            Some(reference) => Some(self.resolve(action, reference).await?),
            None => None,
        };
        let place = self.place(action).await?;
        let query = Query { limit: action.limit, before, filter: action.filter.clone() };
        let listed = self.engine.history(&place, &query).await?;
        let shown: Vec<Value> = listed.iter().map(|entry| show(entry, &listed)).collect();
        Ok(json!({"history": shown}))
    }

    async fn update(&mut self, action: &Action) -> Reply<Value> {
        let place = self.place(action).await?;
        let update = state_write(action.values.as_ref(), action.as_node.as_deref())?;
        let point = self.engine.update(&place, update).await?;
        self.save(action, point);
        Ok(json!({"ok": true}))
    }

    async fn bulk_update(&mut self, action: &Action) -> Reply<Value> {
        let place = self.place(action).await?;
        let superstep = |writes: &Vec<UpdateWrite>| {
            let as_node = |write: &UpdateWrite| write.as_node.clone().filter(|name| !name.is_empty());
            writes.iter().map(|write| state_write(write.values.as_ref(), as_node(write).as_deref())).collect()
        };
        let supersteps: Reply<Vec<Vec<StateWrite>>> = action.supersteps.iter().map(superstep).collect();
        let point = self.engine.bulk_update(&place, supersteps?).await?;
        self.save(action, point);
        Ok(json!({"ok": true}))
    }

    async fn input(&mut self, action: &Action) -> Reply<Input> {
        match &action.command {
            Some(command) => self.command(action, command).await.map(Input::Command),
            None => eval(action.input.as_ref()).map(Input::Values),
        }
    }

    async fn command(&mut self, action: &Action, command: &CommandInput) -> Reply<RunCommand> {
        let resume = match (&command.resume_map, &command.resume) {
            (Some(answers), _) => Some(Resume::ById(self.answers(action, answers).await?)),
            (None, Some(answer)) => Some(Resume::One(eval(Some(answer))?)),
            (None, None) => None,
        };
        let goto = command.goto.as_ref().map_or(Ok(Vec::new()), ways)?;
        let update = Some(eval(command.update.as_ref())?).filter(|update| !update.is_null());
        Ok(RunCommand { resume, goto, update, parent: command.graph.is_some() })
    }

    async fn answers(&mut self, action: &Action, answers: &[Answer]) -> Reply<Vec<(String, Value)>> {
        let place = self.latest(action);
        let (snapshot, _) = self.engine.get_state(&place, false).await?;
        let mut named = Vec::new();
        for answer in answers {
            let id = match (&answer.raw_id, &answer.id, &answer.payload) {
                (Some(raw), _, _) => raw.clone(),
                (None, Some(number), _) => self.ids.ours(number).ok_or_else(|| ErrorView::of_kind("unknown_label"))?,
                (None, None, Some(payload)) => {
                    let open = snapshot.interrupts.iter().find(|open| python::equal(&open.value, payload));
                    open.map(|open| open.id.clone()).ok_or_else(|| ErrorView::other("StopIteration"))?
                }
                (None, None, None) => {
                    return Err(Refusal::Broken("an answer in `resume_map` names no question".to_owned()));
                }
            };
            named.push((id, eval(Some(&answer.value))?));
        }
        Ok(named)
    }

    /// Returns the checkpoint of a reference, as of the start of the action.
    pub(crate) async fn resolve(&mut self, action: &Action, reference: &Reference) -> Reply<E::Point> {
        let place = self.latest(action);
        if let Some(label) = &reference.label {
            return self.labels.get(label).cloned().ok_or_else(|| ErrorView::of_kind("unknown_label").into());
        }
        if let Some(position) = reference.history {
            return self.nth(&place, position).await;
        }
        let Some(path) = &reference.task else {
            return Err(Refusal::Broken(format!("a reference that means nothing: {reference:?}")));
        };
        let Some(point) = self.engine.subgraph(&place, &path.0).await? else { return other("StopIteration") };
        let inside = Place { at: Some(point.clone()), ..place };
        match reference.sub_history {
            Some(position) => self.nth(&inside, position).await,
            None if reference.latest => self.nth(&inside, 0).await,
            None => Ok(point),
        }
    }

    /// Returns the checkpoint at a position of a history, counted from its end if negative.
    async fn nth(&mut self, place: &Place<E::Point>, position: i64) -> Reply<E::Point> {
        let listed = self.engine.history(place, &Query::all()).await?;
        let count = i64::try_from(listed.len()).unwrap_or(i64::MAX);
        let position = if position < 0 { position + count } else { position };
        let found = usize::try_from(position).ok().and_then(|position| listed.get(position));
        found.map_or_else(|| other("IndexError"), |entry| Ok(entry.point.clone()))
    }
}

/// Shows an entry of a history: its parent is a position in the same list, -1 for one that is not listed.
fn show<P: PartialEq>(entry: &HistoryEntry<P>, listed: &[HistoryEntry<P>]) -> Value {
    let position =
        |parent: &P| listed.iter().position(|other| other.point == *parent).map_or(json!(-1), |at| json!(at));
    let mut shown = json!(entry.snapshot);
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("has_parent");
        shown.insert("parent".to_owned(), entry.parent.as_ref().map_or(Value::Null, position));
    }
    shown
}

fn state_write(values: Option<&Expr>, as_node: Option<&str>) -> Reply<StateWrite> {
    Ok(StateWrite { values: eval(values)?, as_node: as_node.map(str::to_owned) })
}

/// Evaluates an action's own expression; without one, null.
fn eval(expr: Option<&Expr>) -> Reply<Value> {
    let Some(expr) = expr else { return Ok(Value::Null) };
    expr.eval(&Env::of_action()).map_err(|raised| ErrorView::from(&raised).into())
}

fn ways(goto: &TargetList) -> Reply<Vec<crate::targets::Goto>> {
    goto.eval(&Env::of_action()).map_err(|raised| ErrorView::from(&raised).into())
}
