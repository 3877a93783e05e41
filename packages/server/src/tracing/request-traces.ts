/** An OpenTelemetry span for each request, if the process has registered an SDK. */
import type { IncomingHttpHeaders } from 'node:http'
import { AshlarError, type EndSpan, type SpanName, type WorkSpans } from '@ashlar/engine'
import type { Attributes, Span } from '@opentelemetry/api'

type Api = typeof import('@opentelemetry/api')

/** The key under which every version of the API keeps its registrations. */
const registered = Symbol.for('opentelemetry.js.api.1')

export class RequestTraces implements WorkSpans {
  private readonly api: Api
  private readonly tracer: ReturnType<Api['trace']['getTracer']>

  constructor(api: Api, version: string) {
    this.api = api
    this.tracer = api.trace.getTracer('ashlar', version)
  }

  begin(name: SpanName): EndSpan | undefined {
    const { context, trace, SpanStatusCode } = this.api
    const active = context.active()
    if (trace.getSpan(active) === undefined) return undefined
    const span = this.tracer.startSpan(name, {}, active)
    return (error) => {
      if (error !== undefined) {
        span.setAttribute('error.type', error instanceof AshlarError ? error.type : 'fault')
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    }
  }

  /** Continues the client's trace if the headers name one (W3C `traceparent`, if the SDK supports it). */
  beginRequest(method: string, headers: IncomingHttpHeaders): Span {
    const { context, propagation, SpanKind } = this.api
    const parent = propagation.extract(context.active(), headers)
    return this.tracer.startSpan(method, { kind: SpanKind.SERVER }, parent)
  }

  /** Runs work whose spans become children of the span, including asynchronous ones. */
  within<T>(span: Span, go: () => T): T {
    const { context, trace } = this.api
    return context.with(trace.setSpan(context.active(), span), go)
  }

  /** `operation`: method and path, without values. `problem`: the type of an error reply. */
  end(span: Span, operation: string, status: number, problem: string | undefined): void {
    const [method = '', route = ''] = operation.split(' ')
    const attributes: Attributes = {
      'http.response.status_code': status,
      // An unknown operation has no route.
      ...(route !== '' && { 'http.request.method': method, 'http.route': route }),
      ...(problem !== undefined && { 'error.type': problem }),
    }
    if (route !== '') span.updateName(operation)
    span.setAttributes(attributes)
    if (status >= 500) span.setStatus({ code: this.api.SpanStatusCode.ERROR })
    span.end()
  }
}

/** Returns undefined if no SDK is registered: then nothing is loaded, and requests are not affected. */
export async function requestTraces(version: string): Promise<RequestTraces | undefined> {
  const global = globalThis as { readonly [registered]?: { readonly trace?: unknown } }
  if (global[registered]?.trace === undefined) return undefined
  return new RequestTraces(await import('@opentelemetry/api'), version)
}
