//! The description of one route, made step by step: `post(path, id, summary).body::<T>().answer::<T>()`. Must not know which routes there
//! are.

use std::collections::BTreeSet;

use axum::http::Method;
use superstep_base::gather;
use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{
    ContentBuilder, HeaderBuilder, HttpMethod, Ref, RefOr, Required, ResponseBuilder, SecurityRequirement,
};
use utoipa::{IntoParams, ToSchema};

use super::errors::{RequestParts, common_errors, error_reference};
use crate::security::access::access;

/// Schemas with their names.
pub(super) type Schemas = Vec<(String, RefOr<Schema>)>;

const JSON: &str = "application/json";

/// The parameters of paths, and what they are; UUIDs with a mark.
const PATH_PARAMETERS: [(&str, &str, bool); 7] = [
    ("assistant_id", "The id of an assistant.", true),
    ("thread_id", "The name of a thread.", false),
    ("run_id", "The id of a run.", true),
    ("cron_id", "The id of a cron.", true),
    ("checkpoint_id", "The id of a checkpoint.", false),
    ("task_id", "The id of a task, such as `3-0`.", false),
    ("namespace", "The path of a subgraph, such as `child` or `a|b`.", false),
];

/// An event of a stream.
#[derive(ToSchema)]
#[schema(as = StreamEvent)]
#[expect(dead_code, reason = "streams are written as text")]
pub(super) struct EventJson {
    /// Its name.
    event: String,
    /// JSON, in one line.
    data: String,
    /// Its number or place, where a reader can come back with it as `last-event-id`.
    id: Option<String>,
}

/// Description of a route.
pub(super) struct Route {
    pub method: Method,
    pub path: &'static str,
    id: &'static str,
    summary: &'static str,
    description: Option<&'static str>,
    parameters: Vec<Parameter>,
    body: Option<RequestBody>,
    answers: Vec<(u16, ResponseBuilder)>,
    headers: Vec<(&'static str, &'static str)>,
    errors: BTreeSet<u16>,
    schemas: Schemas,
}

pub(super) fn get(path: &'static str, id: &'static str, summary: &'static str) -> Route {
    Route::new(Method::GET, path, (id, summary))
}

pub(super) fn post(path: &'static str, id: &'static str, summary: &'static str) -> Route {
    Route::new(Method::POST, path, (id, summary))
}

pub(super) fn put(path: &'static str, id: &'static str, summary: &'static str) -> Route {
    Route::new(Method::PUT, path, (id, summary))
}

pub(super) fn patch(path: &'static str, id: &'static str, summary: &'static str) -> Route {
    Route::new(Method::PATCH, path, (id, summary))
}

pub(super) fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Route {
    Route::new(Method::DELETE, path, (id, summary))
}

/// Returns the schema of any text.
pub(super) fn text() -> Object {
    Object::with_type(Type::String)
}

/// Returns the schema of a whole number from 0.
pub(super) fn count() -> Object {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).build()
}

/// Returns the schema of an object with any fields.
pub(super) fn object() -> Object {
    Object::with_type(Type::Object)
}

/// Returns the schema of any JSON.
pub(super) fn any() -> Object {
    Object::with_type(SchemaType::AnyValue)
}

impl Route {
    fn new(method: Method, path: &'static str, (id, summary): (&'static str, &'static str)) -> Self {
        let name = |part: &'static str| part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        Self {
            method,
            path,
            id,
            summary,
            description: None,
            parameters: path.split('/').filter_map(name).map(path_parameter).collect(),
            body: None,
            answers: vec![],
            headers: vec![],
            errors: BTreeSet::new(),
            schemas: vec![],
        }
    }

    /// Adds what the summary does not say.
    pub(super) fn note(mut self, description: &'static str) -> Self {
        self.description = Some(description);
        self
    }

    /// Adds the parameters of a query that its handler reads as a type.
    pub(super) fn query<Q: IntoParams>(mut self) -> Self {
        self.parameters.extend(Q::into_params(|| Some(ParameterIn::Query)));
        self
    }

    /// Adds a parameter of the query.
    pub(super) fn parameter(self, name: &str, schema: Object, description: &str) -> Self {
        self.parameter_in(ParameterIn::Query, name, (schema, description))
    }

    /// Adds a header that the route reads.
    pub(super) fn header(self, name: &str, description: &str) -> Self {
        self.parameter_in(ParameterIn::Header, name, (text(), description))
    }

    fn parameter_in(mut self, place: ParameterIn, name: &str, (schema, description): (Object, &str)) -> Self {
        let parameter = ParameterBuilder::new().name(name).parameter_in(place).required(Required::False);
        self.parameters.push(parameter.schema(Some(schema)).description(Some(description)).build());
        self
    }

    /// Sets the type of the body.
    pub(super) fn body<T: ToSchema>(mut self) -> Self {
        let schema = self.reference::<T>();
        self.body_of(schema)
    }

    /// Sets the schema of the body.
    pub(super) fn body_of(self, schema: impl Into<RefOr<Schema>>) -> Self {
        self.body_as(JSON, schema)
    }

    /// Sets the type and the schema of the body.
    pub(super) fn body_as(mut self, kind: &str, schema: impl Into<RefOr<Schema>>) -> Self {
        let content = ContentBuilder::new().schema(Some(schema)).build();
        self.body = Some(RequestBodyBuilder::new().content(kind, content).required(Some(Required::True)).build());
        self
    }

    /// Adds an answer of a type.
    pub(super) fn answer<T: ToSchema>(mut self, description: &str) -> Self {
        let schema = self.reference::<T>();
        self.answer_of(schema, description)
    }

    /// Adds an answer with a schema.
    pub(super) fn answer_of(self, schema: impl Into<RefOr<Schema>>, description: &str) -> Self {
        self.content(JSON, schema, description)
    }

    /// Adds an answer that is a list.
    pub(super) fn list<T: ToSchema>(mut self, description: &str) -> Self {
        let schema = self.reference::<T>();
        self.answer_of(ArrayBuilder::new().items(schema).build(), description)
    }

    /// Adds an answer that is a page of a list, whose entries have the fields that the request selects.
    pub(super) fn page<T: ToSchema>(mut self, description: &str) -> Self {
        let entry = AnyOfBuilder::new().item(self.reference::<T>()).item(object()).build();
        self.headers.push(("x-pagination-total", "The number of entries; a lower bound if there are more pages."));
        self.headers.push(("x-pagination-next", "The offset of the next page, if there is one."));
        self.answer_of(ArrayBuilder::new().items(RefOr::T(Schema::AnyOf(entry))).build(), description)
    }

    /// Adds an answer that is a stream of events, each of which is described.
    pub(super) fn stream(mut self, description: &str) -> Self {
        let event = self.reference::<EventJson>();
        self.content("text/event-stream", event, description)
    }

    /// Adds an answer with a body.
    pub(super) fn content(self, kind: &str, schema: impl Into<RefOr<Schema>>, description: &str) -> Self {
        self.with_status(200, (kind, schema.into()), description)
    }

    /// Adds an error that has a form of its own.
    pub(super) fn error_of(self, status: u16, schema: impl Into<RefOr<Schema>>, description: &str) -> Self {
        self.with_status(status, (JSON, schema.into()), description)
    }

    fn with_status(mut self, status: u16, (kind, schema): (&str, RefOr<Schema>), description: &str) -> Self {
        let content = ContentBuilder::new().schema(Some(schema)).build();
        self.answers.push((status, ResponseBuilder::new().description(description).content(kind, content)));
        self
    }

    /// Adds an answer without a body.
    pub(super) fn empty(mut self, status: u16, description: &str) -> Self {
        self.answers.push((status, ResponseBuilder::new().description(description)));
        self
    }

    /// Adds headers of the answer that name the run.
    pub(super) fn names_run(mut self) -> Self {
        self.headers.push(("content-location", "The path of the run."));
        self
    }

    /// Adds headers of the answer that name the run, and where its answer can be had again.
    pub(super) fn names_run_again(mut self) -> Self {
        self.headers.push(("location", "The path at which the answer can be had again."));
        self.names_run()
    }

    /// Adds the statuses of its own errors.
    pub(super) fn errors(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.errors.extend(statuses);
        self
    }

    /// Returns a reference to the schema of a type, which the document then has.
    pub(super) fn reference<T: ToSchema>(&mut self) -> Ref {
        T::schemas(&mut self.schemas);
        self.schemas.push((T::name().into_owned(), T::schema()));
        Ref::from_schema_name(T::name())
    }

    /// Returns the operation, and the schemas that it names.
    pub(super) fn build(self, tag: &str) -> (OperationBuilder, Schemas) {
        let access = access(&self.method, self.path);
        let parts = RequestParts {
            method: &self.method,
            has_parameters: !self.parameters.is_empty(),
            has_body: self.body.is_some(),
        };
        let described: Vec<_> = self.answers.iter().map(|(status, _)| *status).collect();
        let errors = common_errors(&parts, access).into_iter().chain(self.errors);
        let errors: BTreeSet<_> = gather(errors.filter(|status| !described.contains(status)));
        let role = access.needs.map(|role| format!("Needs the role `{role}`."));
        let may_answer = access.may_answer.then(|| "The role `answer` is enough to answer a question.".to_owned());
        let description = self.description.map(str::to_owned).into_iter().chain(role).chain(may_answer);
        let mut operation = OperationBuilder::new()
            .tag(tag)
            .operation_id(Some(self.id))
            .summary(Some(self.summary))
            .description(Some(description.collect::<Vec<_>>().join(" ")))
            .parameters(Some(self.parameters))
            .request_body(self.body);
        if access.needs.is_none() {
            operation = operation.security(SecurityRequirement::default());
        }
        for (status, mut answer) in self.answers {
            for (name, description) in &self.headers {
                let header = HeaderBuilder::new().schema(Some(text())).description(Some(*description));
                answer = answer.header(*name, header.build());
            }
            operation = operation.response(status.to_string(), answer.build());
        }
        for status in errors {
            if let Some(error) = error_reference(status) {
                operation = operation.response(status.to_string(), RefOr::Ref(error));
            }
        }
        (operation, self.schemas)
    }

    /// Returns the method as the document names it; none for those that it has no name for.
    pub(super) fn http_method(&self) -> Option<HttpMethod> {
        match self.method.as_str() {
            "GET" => Some(HttpMethod::Get),
            "POST" => Some(HttpMethod::Post),
            "PUT" => Some(HttpMethod::Put),
            "PATCH" => Some(HttpMethod::Patch),
            "DELETE" => Some(HttpMethod::Delete),
            _ => None,
        }
    }
}

fn path_parameter(name: &'static str) -> Parameter {
    let known = PATH_PARAMETERS.iter().find(|(known, ..)| *known == name);
    let (description, is_uuid) = known.map_or(("", false), |(_, description, is_uuid)| (*description, *is_uuid));
    let schema = match is_uuid {
        true => ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
            .build(),
        false => ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).build(),
    };
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
    parameter.schema(Some(schema)).description(Some(description)).build()
}
