/** The page of react.test.ts: components with each hook, and what they ask of the server. */
import { createElement, type ReactElement, StrictMode } from 'react'
import { createRoot, hydrateRoot } from 'react-dom/client'
import { connect, type LiveDatabase, liveOf } from '../src/index.ts'
import { hooksOf } from '../src/react.ts'
import type { Schema } from './typed-schema.d.ts'

const { LiveProvider, useFind, useLive, useWatch } = hooksOf<Schema>()

/** Live queries of the page. */
export const queries = { begun: 0, ended: 0, found: 0 }

export function open(url: string): LiveDatabase<Schema> {
  const db = connect<Schema>(url, {
    fetch: (address, init) => {
      if (init.headers.accept === 'text/event-stream') {
        queries.begun++
        init.signal?.addEventListener('abort', () => queries.ended++)
      } else queries.found++
      return fetch(address, init as never)
    },
  })
  return liveOf(db)
}

function Watched({ id, points }: { readonly id: string; readonly points: number }): ReactElement {
  const live = useLive()
  const { rows, status } = useWatch('Work.Task', { select: { title: true }, where: { points } })
  const onClick = (): void => {
    for (const { $id } of rows) live.update('Work.Task', $id, { title: `${id} was here` }).catch(() => undefined)
  }
  return createElement('button', { id, type: 'button', onClick }, `${status}: ${rows.map(({ title }) => title).join()}`)
}

function Found(): ReactElement {
  const { rows, status, refresh } = useFind('Work.Task', { select: { title: true }, take: 1 })
  return createElement(
    'button',
    { id: 'found', type: 'button', onClick: refresh },
    `${status}: ${rows.map(({ title }) => title).join()}`,
  )
}

export interface Properties {
  readonly live: LiveDatabase<Schema>
  readonly points: number
  readonly copies: number
}

export function App({ live, points, copies }: Properties): ReactElement {
  const watched = Array.from({ length: copies }, (_, at) =>
    createElement(Watched, { key: at, id: `watched${at}`, points }),
  )
  const page = createElement(LiveProvider, { live }, ...watched, createElement(Found, { key: 'found' }))
  return createElement(StrictMode, null, page)
}

/** Without a database around it. */
export function Lost(): ReactElement {
  return createElement(Found)
}

interface Page {
  render(points: number, copies: number): void
  unmount(): void
  readonly mistakes: string[]
}

/** Hydrates what the server has rendered, or renders into an empty element. */
export function show(url: string, root: unknown, isHydrated: boolean): Page {
  const mistakes: string[] = []
  const live = open(url)
  const element = (points: number, copies: number): ReactElement => createElement(App, { live, points, copies })
  const onRecoverableError = (error: unknown): void => void mistakes.push(String(error))
  const app = isHydrated
    ? hydrateRoot(root as never, element(1, 2), { onRecoverableError })
    : createRoot(root as never, { onRecoverableError })
  return {
    render: (points, copies) => app.render(element(points, copies)),
    unmount: () => app.unmount(),
    mistakes,
  }
}
