/** A task, which can be changed in its place, and its comments. */
import type { Id } from '@ashlar/client'
import { use, useState } from 'react'
import { Attempt } from './attempt.ts'
import { useLive, useWatch } from './database.ts'
import { TextForm } from './text-form.tsx'

interface Person {
  readonly $id: Id<'Person'>
  readonly name: string
}

interface Task {
  readonly $id: Id<'Task'>
  readonly title: string
  readonly status: string
  readonly owner: Person | null
}

interface Properties {
  readonly task: Task
  readonly people: readonly Person[]
  readonly me: Id<'Person'> | undefined
  readonly isPending: boolean
}

export function TaskItem({ task: { $id, title, status, owner }, people, me, isPending }: Properties) {
  const live = useLive()
  const attempt = use(Attempt)
  const [isOpen, setOpen] = useState(false)
  const rename = (text: string): void => {
    if (text !== title) attempt(live.update('Task', $id, { title: text }))
  }
  const give = (id: string): void => {
    const person = people.find((one) => one.$id === id) ?? null
    attempt(live.update('Task', $id, { owner: person?.$id ?? null }, { shown: { owner: person } }))
  }
  const finish = (isDone: boolean): void => attempt(live.update('Task', $id, { status: isDone ? 'done' : 'open' }))
  return (
    <li className={`${status} ${isPending ? 'pending' : ''}`} data-task={title}>
      <div>
        <input
          type="checkbox"
          aria-label="Done"
          checked={status === 'done'}
          onChange={(e) => finish(e.target.checked)}
        />
        <input
          key={title}
          name="title"
          aria-label="Title"
          defaultValue={title}
          onBlur={(e) => {
            rename(e.target.value)
            // What is shown is what the database has; a change that is made comes back as another title.
            e.target.value = title
          }}
          onKeyDown={(e) => e.key === 'Enter' && e.currentTarget.blur()}
        />
        <select aria-label="Owner" value={owner?.$id ?? ''} onChange={(e) => give(e.target.value)}>
          <option value="">nobody</option>
          {people.map((person) => (
            <option key={person.$id} value={person.$id}>
              {person.name}
            </option>
          ))}
        </select>
        <button type="button" onClick={() => setOpen(!isOpen)}>
          Comments
        </button>
        <button type="button" onClick={() => attempt(live.delete('Task', $id))}>
          Delete
        </button>
      </div>
      {isOpen && <Comments task={$id} author={people.find((person) => person.$id === me)} />}
    </li>
  )
}

function Comments({ task, author }: { readonly task: Id<'Task'>; readonly author: Person | undefined }) {
  const live = useLive()
  const attempt = use(Attempt)
  const comments = useWatch('Comment', {
    select: { text: true, at: true, author: { name: true } },
    where: { task },
    orderBy: { at: 'asc' },
  })
  const add = (text: string): void => {
    if (author === undefined) return
    const values = { text, task, at: new Date().toISOString(), author: author.$id }
    attempt(live.create('Comment', values, { shown: { author: { name: author.name } } }))
  }
  return (
    <>
      <ul>
        {comments.rows.map((comment) => (
          <li key={comment.$id} className={comments.pending.has(comment.$id) ? 'pending' : ''}>
            <b>{comment.author?.name ?? 'somebody'}</b> {comment.text}
          </li>
        ))}
      </ul>
      {author !== undefined && <TextForm label="New comment" onText={add} />}
    </>
  )
}
