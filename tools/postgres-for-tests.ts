/** The PostgreSQL of a run of the tests: started before the first, stopped and removed after the last. */
import type { TestProject } from 'vitest/node'
import { PostgresUnavailable } from './postgres-binaries.ts'
import { type RunningPostgres, startPostgres } from './temporary-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the PostgreSQL of this run, a database that is empty at first; of no server when there is none. */
    postgres: string
    /** The data that it began with; empty when there is none. */
    postgresTemplate: string
    /** Why there is none, in one sentence; empty when there is one. */
    postgresMissing: string
  }
}

let running: RunningPostgres | undefined

/** Every project runs this; what the one above them provides, all of them have. */
export async function setup(project: TestProject): Promise<void> {
  if (!project.isRootProject()) return
  let missing = ''
  try {
    running = await startPostgres({ keepsTemplate: true })
  } catch (error) {
    if (!(error instanceof PostgresUnavailable)) throw error
    missing = `PostgreSQL cannot be started here (${error.message}), so nothing was tested on it.`
  }
  project.provide('postgres', running?.address ?? 'postgres://missing.invalid')
  project.provide('postgresTemplate', running?.template ?? '')
  project.provide('postgresMissing', missing)
}

export async function teardown(): Promise<void> {
  await running?.stop()
}
