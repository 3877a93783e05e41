/** Runs the tests as vitest does; where no PostgreSQL could be started, those that need one are skipped, with the reason. */
import { inject, type RunnerTask, type RunnerTestSuite, TestRunner } from 'vitest'

/** What is on PostgreSQL as a whole. In other files, tests ask for it one by one: see `postgresOfRun`. */
const onPostgres = /\/(store\/(postgres|distributed)|contract\/1\.4-unavailable|executable\/postgres)\.test\./

// biome-ignore lint/style/noDefaultExport: this is how vitest takes a runner
export default class extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    const missing = inject('postgresMissing')
    if (missing && (process.env.ASHLAR_TEST_STORE === 'postgres' || onPostgres.test(suite.file.filepath))) {
      skip(suite, missing)
    }
    await super.onBeforeRunSuite(suite)
  }
}

function skip(task: RunnerTask, note: string): void {
  task.mode = 'skip'
  if (task.type === 'suite') for (const child of task.tasks) skip(child, note)
  else task.result = { state: 'skip', ...{ note } }
}
