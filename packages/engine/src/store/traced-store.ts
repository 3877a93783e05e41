/** A store that records its commits as spans in the traces of requests. */
import { type WorkSpans, withinSpan } from '../work-spans.ts'
import type { Store } from './store.ts'

export function tracedStore<S extends Store>(store: S, spans: WorkSpans | undefined): S {
  if (spans === undefined) return store
  return { ...store, commit: (commit) => withinSpan(spans, 'commit', () => store.commit(commit)) }
}
