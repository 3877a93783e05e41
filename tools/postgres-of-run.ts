/** The PostgreSQL of the run, for tests: where there is none, the test that asks for it is skipped. */
import { inject, TestRunner } from 'vitest'
import { type RunningPostgres, startPostgres } from './temporary-postgres.ts'

/** Its address; to be called within a test, which ends here as skipped where it cannot be started. */
export function postgresOfRun(): string {
  const missing = inject('postgresMissing')
  if (missing) TestRunner.getCurrentTest()?.context.skip(missing)
  return inject('postgres')
}

/** Another one, for a test that crashes it or needs several; a standby where it is to follow another. */
export function startAnotherPostgres(standbyOf?: string): Promise<RunningPostgres> {
  return startPostgres({ template: inject('postgresTemplate'), ...(standbyOf !== undefined && { standbyOf }) })
}
