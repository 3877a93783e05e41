/** The projects, and the tasks of one of them. Each change is shown at once; what the server refuses disappears again, and is reported. */
import type { Id } from '@ashlar/client'
import { use, useState } from 'react'
import { Attempt } from './attempt.ts'
import { type Session, useLive, useWatch } from './database.ts'
import { TaskItem } from './task-item.tsx'
import { TextForm } from './text-form.tsx'

export function Board({ session: { me }, onLeave }: { readonly session: Session; readonly onLeave: () => void }) {
  const [error, setError] = useState('')
  const [project, setProject] = useState<Id<'Project'>>()
  const live = useLive()
  const projects = useWatch('Project', { select: { name: true }, orderBy: { name: 'asc' } })
  const attempt = (change: Promise<unknown>): void => {
    setError('')
    change.catch((failure: Error) => setError(failure.message))
  }
  const addProject = (name: string): void => attempt(live.create('Project', { name }).then(setProject))
  // The first project stays chosen when another one comes before it.
  const [first] = projects.rows
  if (project === undefined && first !== undefined) setProject(first.$id)
  return (
    <Attempt value={attempt}>
      <header>
        <strong>{me?.name ?? 'You only read'}</strong>
        <span data-testid="status">{projects.status}</span>
        <button type="button" onClick={onLeave}>
          Sign out
        </button>
      </header>
      {error !== '' && <p role="alert">{error}</p>}
      {projects.status === 'failed' && (
        <p role="alert">
          {(projects.error as Error).message}{' '}
          <button type="button" onClick={projects.refresh}>
            Try again
          </button>
        </p>
      )}
      <nav>
        {projects.rows.map(({ $id, name }) => (
          <button type="button" key={$id} aria-current={$id === project} onClick={() => setProject($id)}>
            {name}
          </button>
        ))}
        <TextForm label="New project" onText={addProject} />
      </nav>
      {project !== undefined && <Tasks key={project} project={project} me={me?.$id} />}
    </Attempt>
  )
}

function Tasks({ project, me }: { readonly project: Id<'Project'>; readonly me: Id<'Person'> | undefined }) {
  const live = useLive()
  const attempt = use(Attempt)
  const people = useWatch('Person', { select: { name: true }, orderBy: { name: 'asc' } })
  const tasks = useWatch('Task', {
    select: { title: true, status: true, owner: { $id: true, name: true } },
    where: { project },
    orderBy: { status: 'desc', title: 'asc' },
  })
  const addTask = (title: string): void =>
    attempt(live.create('Task', { title, project }, { shown: { status: 'open', owner: null } }))
  return (
    <main>
      <ul>
        {tasks.rows.map((task) => (
          <TaskItem key={task.$id} task={task} people={people.rows} me={me} isPending={tasks.pending.has(task.$id)} />
        ))}
      </ul>
      <TextForm label="New task" onText={addTask} />
    </main>
  )
}
