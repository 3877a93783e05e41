/** `ashlar user`, `token` and `role` by a server and on its machine: the same results, exit codes and errors (contract 9.2.1). */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { rule } from '../../../server/test/contract/rule.ts'
import { ashlar, type Ended, start, temporaryDirectory } from '../../../server/test/executable/process.ts'
import { ashlarHere } from './command-line.ts'

const password = 'correct horse battery'
type Run = (words: readonly string[], input?: string) => Promise<Ended>

/** `there`: by the server; `here`: in its data directory. */
async function served(): Promise<{ readonly directory: string; readonly url: string; there: Run; here: Run }> {
  const directory = temporaryDirectory()
  const server = start(['serve', '--auth', '--port', '0'], { ASHLAR_ADMIN_PASSWORD: password }, directory)
  const url = await server.url
  const environment = { ASHLAR_PASSWORD: password }
  return {
    directory,
    url,
    there: (words, input) =>
      ashlarHere([...words, '--url', url, '--user', 'admin'], {
        directory,
        environment,
        ...(input !== undefined && { input }),
      }),
    // ASHLAR_URL says nothing where an option does.
    here: (words, input = '') =>
      ashlar([...words, '--data', 'data'], { directory, environment: { ASHLAR_URL: 'http://127.0.0.1:1' }, input }),
  }
}

/** What differs between two runs by its nature. */
function comparable({ code, stdout, stderr }: Ended): object {
  const varying = /\d{4}-\d\d-\d\dT[\d:.]+Z|ash_\w{16}_[\w-]{43}|\b[\da-f]{16}\b|only once: \S+|"password": "[^"]+"/g
  return { code, stdout: stdout.replaceAll(varying, '…'), stderr: stderr.replaceAll(varying, '…') }
}

rule('9.2.1', 'commands on users, tokens and roles print the same by a server and on its machine', async () => {
  const { directory, there, here } = await served()
  writeFileSync(join(directory, 'wrong.json'), '[')
  const steps: readonly (readonly [number, string])[] = [
    [0, 'user add bob --role reader'],
    [5, 'user add bob'],
    [7, 'user add bob! --json'],
    [7, 'user add ann --role nobody'],
    [0, 'user add eve --no-password --json'],
    [0, 'user list'],
    [0, 'user roles bob writer@default reader --json'],
    [0, 'user password bob'],
    [0, 'user enable bob --quiet'],
    [3, 'user remove nobody --json'],
    [5, 'user remove admin'],
    [2, 'user password bob --password-file missing'],
    [0, 'token create --name laptop --owner bob --expires 90d --json'],
    [0, 'token create --name x --role reader'],
    [0, 'token list'],
    [2, 'token create --name x --role reader --expires soon'],
    [3, 'token revoke 0123456789abcdef'],
    [3, 'token revoke ash_of_somebody'],
    [0, 'role add auditor read'],
    [5, 'role add auditor read --json'],
    [7, 'role add cook bake'],
    [7, 'role add cook --grants-file wrong.json'],
    [0, 'role set auditor read write --json'],
    [3, 'role show auditer'],
    [0, 'role list'],
    [0, 'role remove auditor --json'],
    [0, 'user remove eve --json'],
    [0, 'user remove bob'],
  ]
  for (const [code, line] of steps) {
    const byServer = await there(line.split(' '))
    expect({ line, ...comparable(byServer) }).toMatchObject({ line, code })
    const undo: Readonly<Record<string, string>> = {
      'user add bob --role reader': 'user remove bob',
      'user add eve --no-password --json': 'user remove eve',
      'role add auditor read': 'role remove auditor',
      'role remove auditor --json': 'role add auditor read write',
      'user remove eve --json': 'user add eve --no-password',
      'user remove bob': 'user add bob --role reader',
    }
    if (undo[line] !== undefined) expect(await here(undo[line].split(' '))).toMatchObject({ code: 0 })
    expect({ line, ...comparable(await here(line.split(' '))) }).toEqual({ line, ...comparable(byServer) })
  }
})

rule('9.2.1', 'commands by a server tell who is refused, and secrets go to files that others cannot read', async () => {
  const { directory, url, there } = await served()
  const added = await there(['user', 'add', 'bob', '--role', 'reader', '-q'])
  expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S{24}\n$/), stderr: '' })
  expect(await there(['user', 'password', 'bob', '--password-file', '-'], 'a new password\n')).toMatchObject({
    code: 0,
  })
  expect(await there(['token', 'create', '--name', 'x', '--owner', 'bob', '-q', '-o', 'token'])).toMatchObject({
    code: 0,
    stdout: '',
  })
  if (process.platform !== 'win32') expect(statSync(join(directory, 'token')).mode & 0o77).toBe(0)
  const token = readFileSync(join(directory, 'token'), 'utf8').trim()
  const asBob = (words: readonly string[]) => ashlar([...words, '--url', url, '--token-file', 'token'], { directory })
  expect(await asBob(['user', 'list'])).toMatchObject({ code: 4, stdout: '' })
  const revoked = await there(['token', 'revoke', token, '--json'])
  expect(revoked).toEqual({ code: 0, stdout: `{\n  "revoked": "${token.split('_')[1]}"\n}\n`, stderr: '' })
  await expect.poll(async () => (await asBob(['token', 'list', '--json'])).code).toBe(4)
  const wrong = await ashlar(['user', 'list', '--url', url, '--json'], { directory })
  expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { exitCode: 4, type: 'Unauthenticated', status: 401 } })
  const unknown = await ashlar(['user', 'list', '--url', url], { directory })
  expect(unknown.stderr).toMatch(
    /^ashlar: .*\. Authenticate by --token, --token-file or ASHLAR_TOKEN, by --user with the password in ASHLAR_PASSWORD, or by a --profile\.\n$/,
  )
  expect(await there(['token', 'create', '--name', 'y'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs roles of its own: add --role reader, or another role, or --owner alice'),
  })
  const away = await ashlar(['role', 'list', '--url', 'http://127.0.0.1:1'], { directory })
  expect(away).toMatchObject({ code: 6, stdout: '' })
  const both = await ashlar(['role', 'list', '--url', url, '--data', 'data'], { directory })
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('(--data), not both.') })
  const open = start(['serve', '--port', '0', '--fd', 'default=memory:'])
  const off = await ashlar(['user', 'list'], { directory, environment: { ASHLAR_URL: await open.url } })
  expect(off).toMatchObject({ code: 5, stderr: expect.stringMatching(/started without --auth/) })
  const none = await ashlar(['user', 'list', '--json'], { directory: temporaryDirectory() })
  expect(JSON.parse(none.stderr)).toMatchObject({
    error: { exitCode: 3, message: expect.stringMatching(/^There is no security database at /) },
  })
})
