/** `ashlar schema apply --stepwise`: changes that are more than one transaction can be, stopped and gone on with. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarClient } from '@ashlar/client'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { mergeConfig } from '../../../server/src/config/merge-config.ts'
import { type RunningServer, startServer } from '../../../server/src/start-server.ts'
import { ashlar, temporaryDirectory } from '../../../server/test/executable/process.ts'

let server: RunningServer
const fds = ['killed', 'refused', 'failed', 'checked']

beforeAll(async () => {
  const federatedDatabases = fds.map((alias) => ({ alias, store: 'memory:' }))
  const limits = { transactionIndexObjectsMax: 50 }
  const config = mergeConfig([{ port: 0, federatedDatabases, default: 'killed', limits }])
  server = await startServer(config, pino({ level: 'silent' }))
})
afterAll(() => server.stop())

const before = `UPDATE SCHEMA {
  CREATE CLASS Car {km: Integer, license: String, color: String}
};
CREATE INDEX byColor ON Car (color, license);
`
const after = `UPDATE SCHEMA {
  CREATE CLASS Vehicle {mileage: String, license: String, owner: String}
};
CREATE UNIQUE INDEX byLicense ON Vehicle (license);
CREATE INDEX byMileage ON Vehicle (mileage, owner);
`
const renames = ['--rename', 'Car=Vehicle', '--rename', 'Car.km=mileage'] as const

async function begun(fd: string, count: number) {
  const directory = temporaryDirectory()
  const client = new AshlarClient({ baseUrl: server.url, fdAlias: fd })
  writeFileSync(join(directory, 'before.do'), before)
  writeFileSync(join(directory, 'after.do'), after)
  const environment = { ASHLAR_URL: server.url, ASHLAR_FD: fd }
  const run = (...words: string[]) => ashlar(['schema', ...words], { directory, environment })
  expect(await run('apply', 'before.do')).toMatchObject({ code: 0 })
  const cars = Array.from({ length: count }, (_, i) => ({
    class: 'Car',
    attributes: { km: i, license: `L ${i}`, color: 'red' },
  }))
  await client.createObjects(cars)
  return { directory, client, run, environment }
}

it('is refused as one transaction, done step by step, and goes on wherever it was killed', async () => {
  const { directory, client, run, environment } = await begun('killed', 20_000)
  const refused = await run('apply', 'after.do', ...renames, '--allow-loss')
  expect(refused).toMatchObject({ code: 7, stderr: expect.stringMatching(/50[\s\S]*: add --stepwise to apply\.\n$/) })
  expect(await run('check', 'before.do')).toMatchObject({ code: 0 })
  const lossy = await run('apply', 'after.do', ...renames, '--stepwise')
  expect(lossy).toMatchObject({ code: 5, stderr: expect.stringContaining('! ALTER CLASS Vehicle {DROP color}') })
  const words = ['schema', 'apply', 'after.do', ...renames, '--stepwise', '--allow-loss']
  for (let nth = 0; nth < 6; nth++) {
    const child = spawn(process.execPath, [inject('server'), ...words], {
      cwd: directory,
      env: { ...process.env, ...environment },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await Promise.race([ended, delay(250 + 60 * nth)])
    child.kill('SIGKILL')
    await ended
  }
  const last = await ashlar(words, { directory, environment })
  expect(last).toMatchObject({ code: 0 })
  expect(await run('check', 'after.do')).toMatchObject({ code: 0 })
  expect((await client.listIndexes()).map(({ name, state, entryCount }) => [name, state, entryCount])).toEqual(
    expect.arrayContaining([
      ['byLicense', 'ready', 20_000],
      ['byMileage', 'ready', 20_000],
    ]),
  )
  expect(await client.query("FROM Vehicle WHERE mileage = '77' RETURN *")).toMatchObject([
    { license: 'L 77', owner: '' },
  ])
  // The log ends with what there is, once, whatever was stopped before.
  const log = JSON.parse((await run('log', '--json')).stdout)
  expect(log.map(({ version }: { version: number }) => version)).toEqual([1, 2])
  expect(log[1].text).toContain('CREATE CLASS Vehicle')
  expect(await ashlar(words, { directory, environment })).toMatchObject({
    code: 0,
    stdout: 'The schema is up to date.\n',
  })
})

it('stops where the server refuses a step, and goes on once that is mended', async () => {
  const { directory, client, run } = await begun('refused', 100)
  await client.query("UPDATE Car WHERE km = 97 SET license TO 'L 98'")
  const refused = await run('apply', 'after.do', ...renames, '--stepwise', '--allow-loss', '--json')
  expect(refused).toMatchObject({ code: 5, stdout: '' })
  const notes = refused.stderr.trim().split('\n')
  expect(notes.filter((line) => line.startsWith('Step '))).toEqual([
    'Step 1 of 7: DROP INDEX byColor',
    'Step 2 of 7: RENAME CLASS Car TO Vehicle',
    'Step 3 of 7: ALTER CLASS Vehicle {DROP color}, and 1 more',
    'Step 4 of 7: ALTER CLASS Vehicle {ADD owner: String}',
    'Step 5 of 7: CHANGE Vehicle.mileage: Integer → String',
    'Step 6 of 7: CREATE UNIQUE INDEX byLicense ON Vehicle (license)',
  ])
  expect(JSON.parse(notes.at(-1) ?? '')).toMatchObject({
    error: {
      exitCode: 5,
      message: expect.stringMatching(/^Step 6 of 7: Index byLicense cannot be built: /),
      details: ['Completed steps remain; run the same command again to resume.'],
    },
  })
  expect(await run('check', 'after.do')).toMatchObject({ code: 8 })
  await client.query("UPDATE Vehicle WHERE mileage = '97' SET license TO 'L 97'")
  const resumed = await run('apply', 'after.do', ...renames, '--stepwise', '--allow-loss')
  expect(resumed.stderr).toMatch(/^Step 1 of 2: CREATE UNIQUE INDEX byLicense/)
  expect(resumed.stdout).toContain('Car is Vehicle already.\nCar.km is Vehicle.mileage already.\n')
  expect(await run('check', 'after.do')).toMatchObject({ code: 0 })
  writeFileSync(join(directory, 'lossy.do'), after.replace('license: String', 'license: Integer'))
  const lossy = await run('apply', 'lossy.do', '--stepwise')
  expect(lossy).toMatchObject({ code: 5, stderr: expect.stringMatching(/would be lost[\s\S]*--allow-loss/) })
  expect(await run('check', 'after.do')).toMatchObject({ code: 0 })
})

it('makes an index anew whose build has failed, which check does not take for one', async () => {
  const { client, run } = await begun('failed', 100)
  await client.startIndex({
    name: 'byColors',
    indexedClass: 'Car',
    isUnique: true,
    keyAttributes: [{ attributeName: 'color' }],
  })
  await expect.poll(async () => (await client.getIndex('byColors')).state).toBe('failed')
  expect(await run('check', 'before.do')).toMatchObject({ code: 0 })
  expect((await run('plan', 'before.do')).stdout).toBe('  DROP INDEX byColors\n')
  expect(await run('apply', 'before.do')).toMatchObject({ code: 0 })
  expect((await client.listIndexes()).map(({ name }) => name)).not.toContain('byColors')
})

it('adds checks of more objects than one transaction looks at, and knows those that are not validated', async () => {
  const { directory, run } = await begun('checked', 100)
  const checked = before.replace(
    'color: String}',
    "color: String, seats: Integer, CHECK seated: seats <= km + 9 MESSAGE 'few km'}",
  )
  writeFileSync(join(directory, 'checked.do'), checked)
  expect(await run('apply', 'checked.do', '--stepwise')).toMatchObject({ code: 0 })
  expect(await run('check', 'checked.do')).toMatchObject({ code: 0 })
  const limited = checked
    .replace('km: Integer,', 'km: Integer{Minimum: 1},')
    .replace('MESSAGE', ', CHECK low: km < 50 MESSAGE')
  writeFileSync(join(directory, 'limited.do'), limited)
  const body = {
    attributesToConstrain: [{ attributeName: 'km', minimum: 1 }],
    classFields: {
      checks: [
        { name: 'seated', expression: 'seats <= km + 9' },
        { name: 'low', expression: 'km < 50', message: 'few km' },
      ],
    },
  }
  const reply = await fetch(`${server.url}/v1/schema/Car?fdAlias=checked&validate=false`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(reply.status).toBe(201)
  expect(await run('check', 'limited.do')).toMatchObject({ code: 0 })
})
