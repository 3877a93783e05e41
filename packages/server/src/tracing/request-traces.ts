/** A span of OpenTelemetry for each request, where whoever starts the process has registered an SDK. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Attributes, Span } from '@opentelemetry/api'

type Api = typeof import('@opentelemetry/api')

/** Where every version of the API keeps what is registered. */
const registered = Symbol.for('opentelemetry.js.api.1')

export class RequestTraces {
  private readonly api: Api
  private readonly tracer: ReturnType<Api['trace']['getTracer']>

  constructor(api: Api, version: string) {
    this.api = api
    this.tracer = api.trace.getTracer('ashlar', version)
  }

  /** Part of the client's trace, where its headers name one (W3C `traceparent`, if the SDK reads that). */
  begin(method: string, headers: IncomingHttpHeaders): Span {
    const { context, propagation, SpanKind } = this.api
    const parent = propagation.extract(context.active(), headers)
    return this.tracer.startSpan(method, { kind: SpanKind.SERVER }, parent)
  }

  /** What is begun by `go`, now or later, belongs to the span. */
  within(span: Span, go: () => void): void {
    const { context, trace } = this.api
    context.with(trace.setSpan(context.active(), span), go)
  }

  /** `operation`: method and path, without values. `problem`: the type of an error reply. */
  end(span: Span, operation: string, status: number, problem: string | undefined): void {
    const [method = '', route = ''] = operation.split(' ')
    const attributes: Attributes = {
      'http.response.status_code': status,
      // What no operation is has no route.
      ...(route !== '' && { 'http.request.method': method, 'http.route': route }),
      ...(problem !== undefined && { 'error.type': problem }),
    }
    if (route !== '') span.updateName(operation)
    span.setAttributes(attributes)
    if (status >= 500) span.setStatus({ code: this.api.SpanStatusCode.ERROR })
    span.end()
  }
}

/** Undefined where no SDK is registered: nothing is loaded then, and nothing is done for requests. */
export async function requestTraces(version: string): Promise<RequestTraces | undefined> {
  const global = globalThis as { readonly [registered]?: { readonly trace?: unknown } }
  if (global[registered]?.trace === undefined) return undefined
  return new RequestTraces(await import('@opentelemetry/api'), version)
}
