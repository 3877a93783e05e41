/**
 * Runs the tests as vitest does; where no PostgreSQL could be started, those that need one are skipped, with the reason. A property that
 * fails tells its counterexample before the time of its test is over.
 */
import fc from 'fast-check'
import { inject, type RunnerTask, type RunnerTestCase, type RunnerTestSuite, TestRunner, vi } from 'vitest'
import { cleanUpAfterFile } from './after-file.ts'
import { endTimers, watchTimers } from './leftover-timers.ts'

/** What is on PostgreSQL as a whole. In other files, tests ask for it one by one: see `postgresOfRun`. */
const onPostgres = /\/(store\/(postgres|distributed)|contract\/1\.4-unavailable|executable\/postgres)\.test\./

/**
 * The part of a test's time after which a property is ended: what has failed is shrunk no further then, what has not yet failed counts as
 * failed. Shrinking runs the property again and again, which would only show as a test that takes too long.
 */
const partOfTime = 0.75

/** As `expect.poll` in the configuration: the second after which Vitest gives up may not be enough for one look on a busy machine. */
const waitMsMax = 60_000
const { waitFor } = vi

// biome-ignore lint/style/noDefaultExport: this is how vitest takes a runner
export default class extends TestRunner {
  constructor(...given: ConstructorParameters<typeof TestRunner>) {
    super(...given)
    vi.waitFor = (callback, options) => {
      return waitFor(callback, typeof options === 'number' ? options : { timeout: waitMsMax, ...options })
    }
    if (!this.config.isolate) watchTimers()
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    const missing = inject('postgresMissing')
    if (missing && (process.env.ASHLAR_TEST_STORE === 'postgres' || onPostgres.test(suite.file.filepath))) {
      skip(suite, missing)
    }
    await super.onBeforeRunSuite(suite)
  }

  /** Of one file: each is run by itself. */
  override async onAfterRunFiles(): Promise<void> {
    // What vitest itself restores are spies.
    vi.useRealTimers()
    vi.unstubAllEnvs()
    await cleanUpAfterFile()
    endTimers()
    super.onAfterRunFiles()
  }

  override onBeforeTryTask(test: RunnerTestCase): void {
    const { timeout } = test
    const isLimited = timeout > 0 && timeout < Number.POSITIVE_INFINITY
    fc.configureGlobal(isLimited ? { interruptAfterTimeLimit: timeout * partOfTime, markInterruptAsFailure: true } : {})
    super.onBeforeTryTask(test)
  }
}

function skip(task: RunnerTask, note: string): void {
  task.mode = 'skip'
  if (task.type === 'suite') for (const child of task.tasks) skip(child, note)
  else task.result = { state: 'skip', ...{ note } }
}
