//! Registered functions: what an endpoint's `function` names.

use super::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A plain handler: runs inline on the core that read the request.
pub type PlainHandler = dyn Fn(&Context<'_>, &mut Reply<'_>) -> Result<(), EndpointError> + Send + Sync;

/// An asynchronous handler: makes the future of its answer.
pub type AsyncHandler = dyn Fn(OwnedContext) -> Later + Send + Sync;

/// An answer to come. It is awaited on the core that read the request and never leaves it.
pub type Later = Pin<Box<dyn Future<Output = Result<OwnedReply, EndpointError>>>>;

/// A function under the name that endpoint declarations use. Cheap to clone.
#[derive(Clone)]
pub struct Function {
    pub(crate) name: &'static str,
    pub(crate) handler: Handler,
}

/// The two kinds of function.
#[derive(Clone)]
pub(crate) enum Handler {
    Plain(Arc<PlainHandler>),
    Async(Arc<AsyncHandler>),
}

impl Function {
    /// A plain function, or a closure with the state it works on.
    ///
    /// It runs on its core's thread, and whatever it waits for there, the core's other connections wait for too; the
    /// time-out of an endpoint bounds asynchronous functions only. What may take long belongs into one of these.
    ///
    /// ```
    /// use agtp::engine::Function;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let visits = AtomicU64::new(0);
    /// let count = Function::plain("lobby::count", move |_, reply| {
    ///     let visit = visits.fetch_add(1, Ordering::Relaxed);
    ///     reply.object(|o| {
    ///         o.u64("visit", visit);
    ///     });
    ///     Ok(())
    /// });
    /// assert_eq!(count.name(), "lobby::count");
    /// ```
    pub fn plain(
        name: &'static str,
        run: impl Fn(&Context<'_>, &mut Reply<'_>) -> Result<(), EndpointError> + Send + Sync + 'static,
    ) -> Self {
        Function { name, handler: Handler::Plain(Arc::new(run)) }
    }

    /// An asynchronous function. While it is awaited its connection's later requests wait, so that answers keep their
    /// order; other connections do not.
    ///
    /// ```
    /// use agtp::engine::Function;
    /// use agtp::handler::{EndpointError, OwnedContext, OwnedReply};
    ///
    /// async fn greet(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    ///     let name = ctx.input().str("name")?;
    ///     std::future::ready(()).await; // a database, another service, a timer
    ///     Ok(OwnedReply::object(|o| {
    ///         o.str("greeting", name);
    ///     }))
    /// }
    /// let greet = Function::asynchronous("lobby::greet", greet);
    /// ```
    pub fn asynchronous<F>(
        name: &'static str,
        run: impl Fn(OwnedContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<OwnedReply, EndpointError>> + 'static,
    {
        Function { name, handler: Handler::Async(Arc::new(move |ctx| Box::pin(run(ctx)))) }
    }

    /// Either kind, told apart by its type. What [`functions!`](crate::functions) and compiled deployments use.
    pub fn new<K>(name: &'static str, run: impl IntoHandler<K>) -> Self {
        run.into_function(name)
    }

    /// For example `rooms::book_room`.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.handler {
            Handler::Plain(_) => "plain",
            Handler::Async(_) => "async",
        };
        f.debug_struct("Function").field("name", &self.name).field("kind", &kind).finish()
    }
}

/// Marks a plain function in [`IntoHandler`].
#[derive(Debug)]
pub struct Plain;

/// Marks an asynchronous function in [`IntoHandler`].
#[derive(Debug)]
pub struct Asynchronous;

/// A function that can be registered: plain or asynchronous. `K` only keeps the two apart.
pub trait IntoHandler<K> {
    /// Registers it.
    fn into_function(self, name: &'static str) -> Function;
}

impl<T> IntoHandler<Plain> for T
where
    T: Fn(&Context<'_>, &mut Reply<'_>) -> Result<(), EndpointError> + Send + Sync + 'static,
{
    fn into_function(self, name: &'static str) -> Function {
        Function::plain(name, self)
    }
}

impl<T, F> IntoHandler<Asynchronous> for T
where
    T: Fn(OwnedContext) -> F + Send + Sync + 'static,
    F: Future<Output = Result<OwnedReply, EndpointError>> + 'static,
{
    fn into_function(self, name: &'static str) -> Function {
        Function::asynchronous(name, self)
    }
}

/// A list of functions under the names that endpoint declarations use. Plain and async ones stand side by side.
///
/// ```
/// use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
///
/// fn open(_: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
///     reply.object(|o| {
///         o.bool("open", true);
///     });
///     Ok(())
/// }
///
/// async fn page(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
///     let guest = ctx.input().str("guest")?;
///     Ok(OwnedReply::object(|o| {
///         o.str("paged", guest);
///     }))
/// }
///
/// let functions = agtp::functions! {
///     "door::open" => open,
///     "lobby::page" => page,
/// };
/// assert_eq!(functions.len(), 2);
/// ```
#[macro_export]
macro_rules! functions {
    ($($name:literal => $function:expr),* $(,)?) => {
        ::std::vec![$($crate::engine::Function::new($name, $function)),*]
    };
}
