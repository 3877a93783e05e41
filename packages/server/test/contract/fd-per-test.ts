/** One server for the tests of a file, and a federated database of its own for each of them. */
import { afterAll, beforeAll, beforeEach, type RunnerTask } from 'vitest'
import { FdUnderTest } from './class-of.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

export interface GivenFd {
  readonly server: ServerUnderTest
  readonly fd: FdUnderTest
  readonly alias: string
}

/** For a whole file. `prepare` runs before each of its tests. */
export function useFdPerTest(prepare: (given: GivenFd) => Promise<void>): void {
  let server: ServerUnderTest
  let unused: string[]
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the first parameter's text as the names of fixtures
  beforeAll(async ({}, file) => {
    // Federated databases are made when a server starts: as many as the file has tests.
    unused = file.tasks.flatMap(testsOf).map((_, i) => `fd${i}`)
    server = await startServer({ words: unused.flatMap((alias) => ['--fd', alias]) })
  })
  afterAll(() => server.remove())
  beforeEach(async () => {
    const alias = unused.shift() as string
    await prepare({ server, fd: new FdUnderTest(server, alias), alias })
  })
}

function testsOf(task: RunnerTask): RunnerTask[] {
  return task.type === 'suite' ? task.tasks.flatMap(testsOf) : [task]
}
