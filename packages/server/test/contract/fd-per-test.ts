/** One server for the tests of a file, and a federated database of its own for each of them. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { FdUnderTest } from './class-of.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

export interface GivenFd {
  readonly server: ServerUnderTest
  readonly fd: FdUnderTest
  readonly alias: string
}

/** `tests`: how many the file has, at most. `prepare` runs before each. */
export function useFdPerTest(tests: number, prepare: (given: GivenFd) => Promise<void>): void {
  const aliases = Array.from({ length: tests }, (_, i) => `fd${i}`)
  let server: ServerUnderTest
  let used = 0
  beforeAll(async () => {
    server = await startServer({ words: aliases.flatMap((alias) => ['--fd', alias]) })
  })
  afterAll(() => server.remove())
  beforeEach(async () => {
    const alias = aliases[used++]
    if (alias === undefined) throw new Error(`the file has more than ${tests} tests`)
    await prepare({ server, fd: new FdUnderTest(server, alias), alias })
  })
}
