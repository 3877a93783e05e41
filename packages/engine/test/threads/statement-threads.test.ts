/** Statements in worker threads, on each store that more than one thread can read: with slices of 0 ms, each of them begins again in a thread. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { readAccessPolicy } from '../../src/access/access-policy.ts'
import { keySpace } from '../../src/bytes/key-space.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase, type OpenOptions } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import type { QueryReply, QueryRequest } from '../../src/query/query-request.ts'
import { compactStore } from '../../src/storage/compact-store.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { ChangeSet } from '../../src/write/change-set.ts'
import { classOf } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'
import { freshAddress } from '../store/postgres-stores.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'

const opened: FederatedDatabase[] = []

async function open(
  address: string,
  limits: Partial<EngineLimits> = { statementSliceMs: 0 },
  more: Partial<OpenOptions> = {},
  before?: BeforeCommit,
): Promise<FederatedDatabase> {
  const store = await openStore(address)
  const observed = before === undefined ? store : { ...store, commit: observing(store, before) }
  const fd = await FederatedDatabase.open({ alias: 'test', store: observed, limits, ...more })
  opened.push(fd)
  return fd
}

/** Done once, before the next commit that changes an object. */
interface BeforeCommit {
  next: (() => Promise<void>) | undefined
}

function observing({ commit }: Store, before: BeforeCommit): Store['commit'] {
  return async (made) => {
    const { next } = before
    if (next !== undefined && [...made.changes].some(({ key }) => key[0] === keySpace.object)) {
      before.next = undefined
      await next()
    }
    return commit(made)
  }
}

const workers = new Set<Worker>()

process.on('worker', (worker) => {
  workers.add(worker)
  worker.once('exit', () => workers.delete(worker))
})

async function killThreads(): Promise<void> {
  await Promise.all([...workers].map((worker) => worker.terminate()))
}

async function rows(
  fd: Pick<FederatedDatabase, 'query'>,
  text: string,
  more: Partial<QueryRequest> = {},
): Promise<string[]> {
  return rowTexts(await fd.query({ text, ...more }))
}

async function withPeople(
  address: string,
  limits?: Partial<EngineLimits>,
  more?: Partial<OpenOptions>,
  before?: BeforeCommit,
): Promise<FederatedDatabase> {
  const fd = await open(address, limits, more, before)
  await fd.defineClasses([classOf('Person', { name: 'string', age: 'integer' })], 'create')
  const people = Array.from({ length: 3_000 }, (_, n) => ({ name: `p${n % 100}`, age: n }))
  await rows(fd, 'FOR EACH p IN $people => (CREATE Person {name: $p.name, age: $p.age})', { parameters: { people } })
  return fd
}

afterEach(async () => {
  for (const fd of opened.splice(0)) await fd.close()
})

const statements = [
  'FROM Person RETURN COUNT(), SUM(age)',
  'FROM Person ORDER BY name, age DESC TAKE 7 RETURN *',
  'FROM Person WHERE age >= 2990 ORDER BY age RETURN age, $$USER',
  'FROM Person GROUP BY name RETURN name, COUNT() ORDER BY name',
  "LET x = (FROM Person WHERE name = 'p7' ORDER BY age RETURN age); SHOW $x",
  'UPDATE Person WHERE age < 10 SET age TO age + 10000 RETURN COUNT()',
  'DELETE Person WHERE age > 10005 RETURN COUNT()',
  'EXPLAIN FROM Person WHERE age = 5 RETURN name',
  'FROM Person WHERE nobody = 1 RETURN *',
  'FROM Person RETURN',
  'CREATE Person {name: 5}',
]

async function outcome(fd: FederatedDatabase, text: string): Promise<unknown> {
  try {
    return await rows(fd, text)
  } catch (error) {
    const { type, message, errors, extensions } = error as Record<string, unknown>
    return { type, message, errors, extensions }
  }
}

async function freshStore(): Promise<string> {
  return isOnPostgres ? freshAddress() : `lmdb:${await temporaryDirectory()}`
}

describe(`statements in threads on ${isOnPostgres ? 'PostgreSQL' : 'LMDB'}`, () => {
  it('reply and fail as on the event loop', async () => {
    const inThreads = await withPeople(await freshStore())
    const onLoop = await withPeople(await freshStore(), { statementThreadsMax: 0 })
    for (const text of statements)
      expect([text, await outcome(inThreads, text)]).toEqual([text, await outcome(onLoop, text)])
    expect(inThreads.counts().statementThreads).toBeGreaterThan(0)
    expect(onLoop.counts().statementThreads).toBe(0)
    expect(inThreads.counts().queries).toEqual(onLoop.counts().queries)
    expect((await inThreads.verify()).problems).toEqual([])
  })

  it('see what was committed before, and commit as one queue with the main thread', async () => {
    const fd = await withPeople(await freshStore())
    const oid = JSON.parse((await rows(fd, 'CREATE Person {name: "counter", age: 0}'))[0] as string).__identifier__
    const increments = Array.from({ length: 20 }, () =>
      rows(fd, 'UPDATE Person WHERE name = "counter" SET age TO age + 1'),
    )
    await Promise.all(increments)
    expect(JSON.parse((await fd.readObject(oid)).toString()).age).toBe(20)
  })

  it('send rows no faster than they are read, and end with their reader', async () => {
    const fd = await withPeople(await freshStore())
    const { chunks } = (await fd.query({
      text: 'FROM Person AS a, Person AS b WHERE a.name = b.name RETURN a, b',
    })) as QueryReply
    const iterator = chunks[Symbol.asyncIterator]()
    expect((await iterator.next()).done).not.toBe(true)
    await iterator.return?.()
    expect(fd.counts().memoryBytes).toBe(0)
    expect(fd.counts().oldestSnapshotMs).toBe(0)
    expect(await rows(fd, 'FROM Person RETURN COUNT()')).toEqual(['{"COUNT()":3000}'])
  })

  it('end with the signal of their request, whatever they do', async () => {
    const fd = await withPeople(await freshStore(), { statementSliceMs: 0, statementThreadsMax: 1 })
    const abort = new AbortController()
    const endless = rows(fd, 'FROM Person AS a, Person AS b, Person AS c RETURN COUNT()', { signal: abort.signal })
    await expect.poll(() => fd.counts().statementThreads).toBe(1)
    abort.abort(new Error('the client is gone'))
    await expect(endless).rejects.toThrow('the client is gone')
    // The only thread is free again.
    expect(await rows(fd, 'FROM Person RETURN COUNT()')).toEqual(['{"COUNT()":3000}'])
  })

  it('have the limits of a statement and of the process', async () => {
    const limits = { statementSliceMs: 0, statementBytesMax: 2 ** 20, statementDiskBytesMax: 0 }
    const address = await freshStore()
    await (await withPeople(address)).close()
    opened.pop()
    const limited = await open(address, limits)
    const text = 'FROM Person AS a, Person AS b WHERE a.name = b.name ORDER BY b.age RETURN a, b'
    await expect(rows(limited, text)).rejects.toMatchObject({ type: 'LimitExceeded' })
    expect(limited.counts().memoryBytes).toBe(0)
  })

  it('fail with what the holder of their memory throws', async () => {
    const fd = await withPeople(await freshStore())
    const refusal = new Error('too much of one caller')
    const memoryHolder = {
      take() {
        throw refusal
      },
      giveBack() {},
    }
    const text = 'FROM Person AS a, Person AS b WHERE a.name = b.name ORDER BY b.age RETURN a, b'
    await expect(rows(fd, text, { memoryHolder })).rejects.toBe(refusal)
    expect(fd.counts().memoryBytes).toBe(0)
  })

  it('run on the event loop while all threads are busy, and where they have many parameters', async () => {
    const fd = await withPeople(await freshStore(), { statementSliceMs: 0, statementThreadsMax: 1 })
    // Its reader takes the first rows alone.
    const held = await fd.query({ text: 'FROM Person AS a, Person AS b WHERE a.name = b.name RETURN a, b' })
    const chunks = held.chunks[Symbol.asyncIterator]()
    await chunks.next()
    expect(await rows(fd, 'FROM Person RETURN COUNT()')).toEqual(['{"COUNT()":3000}'])
    const many = Array.from({ length: 200_000 }, (_, n) => n)
    expect(await rows(fd, 'SHOW COUNT($many)', { parameters: { many } })).toEqual(['200000'])
    await chunks.return?.()
  })

  it('begin in a thread where they have more parameters than fit into a slice', async () => {
    const fd = await open(await freshStore(), { statementSliceMs: 60_000 })
    const threadsOf = async (length: number): Promise<number> => {
      const many = Array.from({ length }, (_, n) => n + 0.5)
      expect(await rows(fd, 'SHOW COUNT($many)', { parameters: { many } })).toEqual([`${length}`])
      return fd.counts().statementThreads
    }
    expect(await threadsOf(1_000)).toBe(0)
    expect(await threadsOf(10_000)).toBe(1)
  })

  it('show a caller what its policy shows', async () => {
    const fd = await withPeople(await freshStore())
    const policy = readAccessPolicy({
      user: { name: 'ann' },
      grants: [
        {
          on: { kind: 'class', className: 'Person' },
          actions: ['read', 'query'],
          hidden: ['name'],
          rules: { read: 'age < 3' },
        },
      ],
    })
    const caller = fd.as(policy)
    expect(await rows(caller, 'FROM Person ORDER BY age RETURN age, $$USER.name AS who')).toEqual(
      [0, 1, 2].map((age) => `{"age":${age},"who":"ann"}`),
    )
    await expect(rows(caller, 'FROM Person WHERE name = "p1" RETURN age')).rejects.toMatchObject({ type: 'QueryError' })
    await expect(rows(caller, 'DELETE Person')).rejects.toMatchObject({ type: 'Forbidden' })
  })

  it('are left to the main thread where they change the schema', async () => {
    const fd = await withPeople(await freshStore())
    await rows(fd, 'UPDATE SCHEMA {CREATE CLASS Dog {name: String}}; CREATE Dog {name: "Rex"}')
    expect(await rows(fd, 'FROM Dog RETURN name')).toEqual(['{"name":"Rex"}'])
  })

  it('report what they have changed to the listener of the main thread, once for each commit', async () => {
    const changes: ChangeSet[] = []
    const fd = await withPeople(await freshStore(), undefined, { onChanges: (set) => void changes.push(set) })
    changes.length = 0
    await rows(fd, 'UPDATE Person WHERE age = 7 SET age TO 8')
    expect(fd.counts().statementThreads).toBe(1)
    expect(changes).toMatchObject([{ objects: 1, oids: [expect.any(String)], classes: ['Person'], hasSchema: false }])
    await outcome(fd, 'UPDATE Person WHERE age = 9 SET age TO 10; CREATE Person {name: 5}')
    expect(changes).toHaveLength(1)
  })

  it('run again where their commit conflicts with one of the main thread', async () => {
    const before: BeforeCommit = { next: undefined }
    const fd = await withPeople(await freshStore(), undefined, {}, before)
    const [row] = await rows(fd, 'CREATE Person {name: "counter", age: 0}')
    const oid = JSON.parse(row as string).__identifier__
    before.next = async () => {
      await fd.updateObject(oid, { age: 100 })
    }
    await rows(fd, 'UPDATE Person WHERE name = "counter" SET age TO age + 1')
    expect(JSON.parse((await fd.readObject(oid)).toString()).age).toBe(101)
  })

  it('end beside others in the main thread who go on changing what they read', async () => {
    const fd = await withPeople(await freshStore())
    const oids = (await rows(fd, "FROM Person WHERE name = 'p7' RETURN *")).map((row) => JSON.parse(row).__identifier__)
    let isDone = false
    let writes = 0
    const write = async (): Promise<void> => {
      while (!isDone) await fd.updateObject(oids[writes++ % oids.length], { age: writes })
    }
    const writing = Promise.all([write(), write(), write()])
    await rows(fd, "LET all = (FROM Person RETURN SUM(age)); UPDATE Person WHERE name = 'p8' SET age TO 1")
    isDone = true
    await writing
    expect(await rows(fd, "FROM Person WHERE name = 'p8' AND age = 1 RETURN COUNT()")).toEqual(['{"COUNT()":30}'])
    expect((await fd.verify()).problems).toEqual([])
  })

  it('leave an unknown outcome where their thread ends between a commit and its answer', async () => {
    const before: BeforeCommit = { next: undefined }
    const changes: ChangeSet[] = []
    const fd = await withPeople(await freshStore(), undefined, { onChanges: (set) => void changes.push(set) }, before)
    changes.length = 0
    const text = 'UPDATE Person WHERE age = 7 SET name TO "killed"'
    before.next = killThreads
    await expect(rows(fd, text)).rejects.toMatchObject({ type: 'OutcomeUnknown' })
    // The commit was handed over, and so it is made and reported.
    await expect.poll(() => changes.length).toBe(1)
    expect(await rows(fd, 'FROM Person WHERE name = "killed" RETURN age')).toEqual(['{"age":7}'])
    expect(fd.counts().memoryBytes).toBe(0)
    expect(fd.counts().oldestSnapshotMs).toBe(0)
  })

  it('commit nothing once their client has left, and reply once they have committed', async () => {
    const before: BeforeCommit = { next: undefined }
    const fd = await withPeople(await freshStore(), undefined, {}, before)
    const late = new AbortController()
    before.next = async () => late.abort(new Error('the client is gone'))
    const changed = 'UPDATE Person WHERE age = 7 SET name TO "late" RETURN COUNT()'
    expect(await rows(fd, changed, { signal: late.signal })).toEqual(['{"COUNT()":1}'])
    const early = new AbortController()
    const abort = (): void => early.abort(new Error('the client is gone'))
    const refused = rows(fd, 'UPDATE Person SET name TO "early"', { signal: early.signal, watch: { onStarted: abort } })
    await expect(refused).rejects.toThrow('the client is gone')
    expect(await rows(fd, 'FROM Person WHERE name = "early" OR name = "late" RETURN age')).toEqual(['{"age":7}'])
  })

  it('with COMMIT EVERY say what stays when they are stopped', async () => {
    const importDir = await temporaryDirectory()
    await writeFile(join(importDir, 'ages.csv'), `age\n${Array.from({ length: 10 }, (_, n) => n).join('\n')}\n`)
    const stop = new AbortController()
    const stopped = new AshlarError('StatementStopped', 'The statement was stopped.')
    let commits = 0
    const onChanges = (): void => {
      if (++commits === 2) stop.abort(stopped)
    }
    const fd = await open(await freshStore(), { statementSliceMs: 0 }, { importDir, onChanges })
    await fd.defineClasses([classOf('Person', { age: 'integer' })], 'create')
    commits = 0
    const text = "FOR EACH r IN IMPORT CSV 'ages.csv' USE HEADER COMMIT EVERY 2 => (CREATE Person {age: $r.age})"
    const error = await rows(fd, text, { signal: stop.signal }).catch((thrown: unknown) => thrown)
    expect(fd.counts().statementThreads).toBe(1)
    expect(error).toMatchObject({ type: 'StatementStopped', extensions: { commits: 2, rowsCommitted: 4 } })
    expect((error as Error).message).toMatch(/^The statement was stopped\. What was committed before stays: 2 commits/)
    expect(await rows(fd, 'FROM Person RETURN COUNT()')).toEqual(['{"COUNT()":4}'])
  })

  it('keep numbers that cannot be copied', async () => {
    const fd = await withPeople(await freshStore())
    await expect(rows(fd, 'CREATE Person {age: $n}', { parameters: { n: Symbol('1e-400') } })).rejects.toMatchObject({
      type: 'QueryError',
    })
  })

  it('fail when the database is closed', async () => {
    const fd = await withPeople(await freshStore())
    let isForThread = false
    const watch = {
      mayContinue() {
        isForThread = true
        return undefined
      },
    }
    const endless = rows(fd, 'FROM Person AS a, Person AS b, Person AS c RETURN COUNT()', { watch })
    const failed = expect(endless).rejects.toMatchObject({ type: 'StoreUnavailable' })
    await expect.poll(() => isForThread).toBe(true)
    await fd.close()
    opened.pop()
    await failed
  })
})

it('statements in threads go on in the file that a compaction has put in place', async () => {
  const address = `lmdb:${await temporaryDirectory()}`
  const fd = await withPeople(address)
  await rows(fd, 'DELETE Person WHERE age >= 10')
  await compactStore(address, { signal: new AbortController().signal })
  await rows(fd, 'CREATE Person {name: "after", age: 1}')
  expect(await rows(fd, 'FROM Person RETURN COUNT()')).toEqual(['{"COUNT()":11}'])
})

it('statements run on the event loop where no thread can open the store', async () => {
  const store = await openStore(`lmdb:${await temporaryDirectory()}`)
  const elsewhere = { ...store, threadAddress: () => `lmdb:${store.capabilities.location}/nowhere?file=1:1` }
  const fd = await FederatedDatabase.open({ alias: 'test', store: elsewhere, limits: { statementSliceMs: 0 } })
  opened.push(fd)
  await fd.defineClasses([classOf('Person', { name: 'string' })], 'create')
  await rows(fd, 'CREATE Person {name: "a"}')
  expect(await rows(fd, 'FROM Person RETURN name')).toEqual(['{"name":"a"}'])
  expect(fd.counts().statementThreads).toBe(0)
})

it('a long text is searched for a regular expression in a thread, whatever is left of the slice', async () => {
  const fd = await open(`lmdb:${await temporaryDirectory()}`, { statementSliceMs: 60_000 })
  const search = (length: number): Promise<string[]> => {
    return rows(fd, "SHOW $text =~ 'a+b$'", { parameters: { text: 'a'.repeat(length) } })
  }
  expect(await search(500)).toHaveLength(1)
  expect(fd.counts().statementThreads).toBe(0)
  expect(await search(2_000)).toHaveLength(1)
  expect(fd.counts().statementThreads).toBe(1)
})

it('an object with very many embedded objects that have computed attributes is read in a thread', async () => {
  const fd = await open(`lmdb:${await temporaryDirectory()}`, { statementSliceMs: 60_000 })
  const twice = { logicalType: 'integer', computed: { expression: 'n * 2' } }
  const lines = { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'Line' } }
  const line = classOf('Line', { n: 'integer', twice }, { isReferenceable: false })
  await fd.defineClasses([line, classOf('Order', { code: 'integer', lines })], 'create')
  const create = (code: number, count: number): Promise<string> => {
    return fd.createObject('Order', { code, lines: Array.from({ length: count }, (_, n) => ({ n })) })
  }
  await create(0, 10)
  await create(1, 6_000)
  const texts = ['FROM Order WHERE code = $c RETURN *', 'FROM Order WHERE code = $c RETURN lines']
  for (const [i, text] of [...texts, 'FROM Order AS o WHERE code = $c RETURN OBJECT(o), o.lines.twice'].entries()) {
    await rows(fd, text, { parameters: { c: 0 } })
    expect([text, fd.counts().statementThreads]).toEqual([text, Math.min(i, 1)])
    const [row = ''] = await rows(fd, text, { parameters: { c: 1 } })
    expect([text, row.includes('11998'), fd.counts().statementThreads]).toEqual([text, true, 1])
  }
})

it('a statement that has only reserved OIDs and is stopped fails with the reason, since it has changed nothing', async () => {
  const store = await openStore(`lmdb:${await temporaryDirectory()}`)
  let reserved = (): void => undefined
  const reservation = new Promise<void>((resolve) => {
    reserved = resolve
  })
  const commit: Store['commit'] = async (made) => {
    const outcome = await store.commit(made)
    if (isRunning && [...made.changes].some(({ key }) => key[0] === keySpace.container)) reserved()
    return outcome
  }
  let isRunning = false
  const fd = await FederatedDatabase.open({
    alias: 'test',
    store: { ...store, commit },
    limits: { statementSliceMs: 0 },
  })
  opened.push(fd)
  await fd.defineClasses([classOf('Fresh', { name: 'string' })], 'create')
  isRunning = true
  const controller = new AbortController()
  // The search cannot be interrupted, and takes longer than it takes to end its thread.
  const slow = "SHOW $text =~ '((a|b)*a(a|b){400}|(a|b)*b(a|b){390})[^ab].$'"
  const stopped = rows(fd, `CREATE Fresh {name: 'a'}; ${slow}`, {
    parameters: { text: 'ab'.repeat(200_000) },
    signal: controller.signal,
  })
  const failed = expect(stopped).rejects.toThrow('asked to stop')
  await reservation
  controller.abort(new Error('asked to stop'))
  await failed
  expect(await rows(fd, 'FROM Fresh RETURN COUNT() AS n')).toEqual(['{"n":0}'])
})
