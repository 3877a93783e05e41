/** How many statements work at once, how many wait, and who goes first. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AshlarError, openTimeSlice } from '@ashlar/engine'
import { describe, expect, it } from 'vitest'
import type { Waiter } from '../../src/shares/share-queue.ts'
import type { AbortedReplies } from '../../src/statements/aborted-replies.ts'
import { Admission, type AdmissionLimits } from '../../src/statements/admission.ts'
import { RunningStatement } from '../../src/statements/statement.ts'

const limits: AdmissionLimits = {
  statementsMax: 3,
  statementsPerCallerMax: 2,
  queuedStatementsMax: 4,
  queuedStatementsPerCallerMax: 3,
  statementQueueMsMax: 1_000_000,
}

function waiter(sharer: string, more: Partial<Waiter> = {}): Waiter {
  return { sharer, waitsUntilMs: performance.now() + 1_000_000, signal: new AbortController().signal, ...more }
}

/** For longer than a slice of time. */
function busy(): void {
  const end = performance.now() + 6
  while (performance.now() < end);
}

async function typeOf(attempt: () => Promise<void> | undefined): Promise<string> {
  try {
    await attempt()
    return 'no error'
  } catch (error) {
    return (error as AshlarError).type
  }
}

/** Slots for each of these addresses; the names of those who got theirs, in the order in which they did. `refused`: the others, with why. */
function askFor(admission: Admission, names: readonly string[], refused: string[] = []): string[] {
  const got: string[] = []
  for (const name of names) {
    const slot = admission.acquireSlot(waiter(name[0] as string))
    if (slot === undefined) got.push(name)
    else
      void slot.then(
        () => got.push(name),
        (error: AshlarError) => refused.push(`${name} ${error.type}`),
      )
  }
  return got
}

describe('slots', () => {
  it('are given at once while there are any, and then in the order of the queue', async () => {
    const admission = new Admission({ ...limits, statementsPerCallerMax: 3 })
    const got = askFor(admission, ['a1', 'a2', 'b3', 'b4', 'a5', 'b6'])
    expect(got).toEqual(['a1', 'a2', 'b3'])
    admission.leave('a')
    admission.leave('a')
    await nextTurn()
    expect(got).toEqual(['a1', 'a2', 'b3', 'b4', 'a5'])
  })

  it('are never all of one address: others pass those that wait for their share', async () => {
    const admission = new Admission(limits)
    const got = askFor(admission, ['a1', 'a2', 'a3', 'a4', 'b5'])
    expect(got).toEqual(['a1', 'a2', 'b5'])
    const more = askFor(admission, ['c6'])
    admission.leave('b')
    await nextTurn()
    expect(more).toEqual(['c6'])
    expect(got).toHaveLength(3)
    admission.leave('a')
    await nextTurn()
    expect(got).toEqual(['a1', 'a2', 'b5', 'a3'])
  })

  it('are refused where the queue is full, in all or by address', async () => {
    const admission = new Admission(limits)
    const refused: string[] = []
    askFor(admission, ['a1', 'a2', 'b3'])
    askFor(admission, ['a4', 'a5', 'a6'], refused)
    expect(await typeOf(() => admission.acquireSlot(waiter('a')))).toBe('TooManyStatements')
    askFor(admission, ['b7'])
    // Two addresses would have to give up what each has.
    askFor(admission, ['c8', 'd9'], refused)
    expect(await typeOf(() => admission.acquireSlot(waiter('e')))).toBe('ServerBusy')
    await nextTurn()
    expect(refused).toEqual(['a6 ServerBusy', 'a5 ServerBusy'])
  })

  it('are waited for by an address that has less in a full queue: the last of the one that has most gives way', async () => {
    const admission = new Admission({ ...limits, statementsPerCallerMax: 3 })
    const refused: string[] = []
    const got = askFor(admission, ['x1', 'y2', 'z3', 'a4', 'a5', 'a6', 'b7', 'c8'], refused)
    await nextTurn()
    expect(refused).toEqual(['a6 ServerBusy'])
    for (const address of ['x', 'y', 'z']) admission.leave(address)
    await nextTurn()
    // Each address has its turn, where none has more slots than another.
    expect(got).toEqual(['x1', 'y2', 'z3', 'a4', 'b7', 'c8'])
  })

  it('are not waited for longer than said: a share that is used up is told apart from a full server', async () => {
    const admission = new Admission(limits)
    const late = (address: string) => typeOf(() => admission.acquireSlot(waiter(address, { waitsUntilMs: 0 })))
    askFor(admission, ['a1', 'a2'])
    expect(await late('a')).toBe('TooManyStatements')
    askFor(admission, ['b3'])
    expect(await late('b')).toBe('ServerBusy')
    // Those who gave up have left the queue: neither has a slot when one is free.
    admission.leave('a')
    expect(askFor(admission, ['c4'])).toEqual(['c4'])
  })

  it('that were waited for keep no process from ending', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const admission = new Admission({ ...limits, statementsMax: 1 })
    const before = timers()
    const got = askFor(admission, ['a1', 'b2'])
    admission.leave('a')
    await nextTurn()
    expect(got).toEqual(['a1', 'b2'])
    expect(timers()).toBe(before)
  })

  it('whoever goes away leaves the queue at once, and has its room there no more', async () => {
    const admission = new Admission(limits)
    askFor(admission, ['a1', 'a2', 'b3'])
    const controllers = [1, 2, 3].map(() => new AbortController())
    const gone = new Error('gone')
    const waits = controllers.map(({ signal }) => admission.acquireSlot(waiter('a', { signal })))
    for (const controller of controllers) controller.abort(gone)
    for (const wait of waits) await expect(wait).rejects.toBe(gone)
    const got = askFor(admission, ['a4', 'a5', 'a6'])
    admission.leave('a')
    await nextTurn()
    expect(got).toEqual(['a4'])
  })
})

describe('a statement', () => {
  it('that has ended with its client takes no slot, whatever of its work still asks for one', () => {
    const admission = new Admission({ ...limits, statementsMax: 1 })
    const response = new EventEmitter()
    const asked = { kind: 'query', text: '', fdAlias: 'fd', clientAddress: 'a' } as const
    const inProgress = new Map<string, RunningStatement>()
    const statement = new RunningStatement(
      asked,
      'a',
      response as ServerResponse,
      contextOf(admission, inProgress),
      undefined,
    )
    statement.lasts()
    expect(inProgress.size).toBe(1)
    response.emit('close')
    statement.worked()
    expect(inProgress.size).toBe(0)
    expect(() => statement.mayContinue()).toThrow(statement.signal.reason as Error)
    expect(askFor(admission, ['b1'])).toEqual(['b1'])
  })
})

describe('first turns', () => {
  it('are one in a turn of the event loop, where each uses its slice up', async () => {
    const admission = new Admission({ ...limits, queuedStatementsMax: 100, queuedStatementsPerCallerMax: 100 })
    const turns: number[] = []
    let turn = 0
    let isOver = false
    const count = (): void => {
      turn += 1
      if (!isOver) setImmediate(count)
    }
    count()
    const begun = Array.from({ length: 10 }, async () => {
      const wait = admission.begin(waiter('a'))
      if (wait !== undefined) await wait
      const slice = openTimeSlice()
      busy()
      turns.push(turn)
      await slice.yieldIfDue()
    })
    await Promise.all(begun)
    isOver = true
    expect(turns).toHaveLength(10)
    expect(new Set(turns).size).toBe(10)
  })

  it('are not refused for the time they took while slots are free', async () => {
    const admission = new Admission(limits)
    while (admission.begin(waiter('a')) === undefined);
    const late = { waitsUntilMs: 0 }
    const begun = typeOf(() => admission.begin(waiter('b', late)))
    expect(await begun).toBe('no error')
    askFor(admission, ['a1', 'a2', 'c3'])
    // Nobody hands turns out while the event loop is busy here: time is up first.
    const refused = typeOf(() => admission.begin(waiter('b', late)) ?? Promise.resolve())
    expect(['ServerBusy', 'no error']).toContain(await refused)
  })

  it('are refused where too many wait for one, before a body is read too', async () => {
    const admission = new Admission(limits)
    while (admission.begin(waiter('a')) === undefined);
    const [second, third] = [admission.begin(waiter('a')), admission.begin(waiter('a'))]
    expect(() => admission.checkRoom('a')).toThrow(expect.objectContaining({ type: 'TooManyStatements' }))
    expect(() => admission.checkRoom('b')).not.toThrow()
    void admission.begin(waiter('b'))
    // The last of the three would give way.
    expect(() => admission.checkRoom('c')).not.toThrow()
    void admission.begin(waiter('c'))
    expect(() => admission.checkRoom('d')).not.toThrow()
    void admission.begin(waiter('d'))
    expect(() => admission.checkRoom('e')).toThrow(expect.objectContaining({ type: 'ServerBusy' }))
    expect(await typeOf(() => admission.begin(waiter('e')))).toBe('ServerBusy')
    await expect(third).rejects.toMatchObject({ type: 'ServerBusy' })
    await expect(second).rejects.toMatchObject({ type: 'ServerBusy' })
  })

  it('are had first by the statements of an address that has few, before the many of others', async () => {
    const admission = new Admission({ ...limits, queuedStatementsMax: 100, queuedStatementsPerCallerMax: 75 })
    askFor(admission, ['a1', 'a2', 'b3', 'b4'])
    while (admission.begin(waiter('a')) === undefined);
    const began: string[] = []
    const begin = (name: string): void => {
      void Promise.resolve(admission.begin(waiter(name[0] as string))).then(() => {
        began.push(name)
        if (began.length > 2 && began.length < 10) busy()
      })
    }
    for (let i = 0; i < 60; i++) begin('a')
    for (let i = 0; i < 30; i++) begin('b')
    begin('c')
    begin('d')
    while (began.length < 2) await nextTurn()
    expect(began.slice(0, 2)).toEqual(['c', 'd'])
    while (began.length < 92) await nextTurn()
    // Of those that have more, none has all the turns: every other one goes by the order of the addresses.
    expect(new Set(began.slice(2, 8))).toEqual(new Set(['a', 'b']))
  })

  it('are had first by an address of which fewest are under way, which those that have ended are not', async () => {
    const firstToBegin = async (areEnded: boolean): Promise<string | undefined> => {
      const admission = new Admission({ ...limits, queuedStatementsMax: 100, queuedStatementsPerCallerMax: 75 })
      const began: string[] = []
      let inProgress = 0
      let turn = admission.begin(waiter('a'))
      for (; turn === undefined; turn = admission.begin(waiter('a'))) inProgress++
      void turn.then(() => began.push('a'))
      void admission.begin(waiter('b'))?.then(() => began.push('b'))
      if (areEnded) for (; inProgress > 0; inProgress--) admission.end('a')
      while (began.length < 2) await nextTurn()
      return began[0]
    }
    expect(await firstToBegin(false)).toBe('b')
    expect(await firstToBegin(true)).toBe('a')
  })

  it('come to every address, though others of which none works never cease to ask', async () => {
    const admission = new Admission({ ...limits, queuedStatementsMax: 100, queuedStatementsPerCallerMax: 75 })
    askFor(admission, ['a1'])
    while (admission.begin(waiter('b')) === undefined);
    let hasStarted = false
    void Promise.resolve(admission.begin(waiter('a'))).then(() => {
      hasStarted = true
    })
    let newcomers = 0
    // Whoever begins is followed by another, so that there is always one.
    const follow = async (): Promise<void> => {
      while (!hasStarted && newcomers < 1_000) await admission.begin(waiter(`n${newcomers++}`))
    }
    await Promise.all([follow(), follow(), follow()])
    expect(hasStarted).toBe(true)
  })

  it('yields its slot while its client takes nothing, goes first when it goes on, and is not refused', async () => {
    const admission = new Admission({ ...limits, statementsMax: 1, statementsPerCallerMax: 1 })
    const sending = lasting(admission, 'a')
    expect(sending.mayContinue()).toBeUndefined()
    sending.pauses()
    const got = askFor(admission, ['b1'])
    // What has paused for a moment keeps its slot.
    expect(got).toEqual([])
    while (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    const more = askFor(admission, ['c2'])
    let isOn = false
    const on = sending.proceeds()?.then(() => {
      isOn = true
    })
    await nextTurn()
    expect(isOn).toBe(false)
    admission.leave('b')
    await on
    expect(more).toEqual([])
    expect(sending.proceeds()).toBeUndefined()
    sending.pauses()
    while (more.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    sending.signal.abort(new Error('gone'))
    await expect(Promise.resolve().then(() => sending.proceeds())).rejects.toThrow('gone')
  })

  it('keeps its slot while it holds much', async () => {
    const admission = new Admission({ ...limits, statementsMax: 1, statementsPerCallerMax: 1, statementQueueMsMax: 0 })
    const sending = lasting(admission, 'a')
    sending.onStarted({ rows: 0, touched: 0, workedMs: 0, bytesHeld: 2 ** 22 })
    expect(sending.mayContinue()).toBeUndefined()
    sending.pauses()
    expect(await typeOf(() => admission.acquireSlot(waiter('b', { waitsUntilMs: performance.now() + 200 })))).toBe(
      'ServerBusy',
    )
    expect(sending.proceeds()).toBeUndefined()
  })
})

function newStatement(
  admission: Admission,
  clientAddress: string,
  { text = '', response = new EventEmitter() as object } = {},
): RunningStatement {
  const asked = { kind: 'query', text, fdAlias: 'fd', clientAddress } as const
  return new RunningStatement(asked, clientAddress, response as ServerResponse, contextOf(admission), undefined)
}

function contextOf(admission: Admission, inProgress = new Map<string, RunningStatement>()) {
  return {
    admission,
    queueMsMax: 1_000_000,
    abortedReplies: {} as AbortedReplies,
    inProgress,
    slow: undefined,
  }
}

function lasting(admission: Admission, clientAddress: string, response?: object): RunningStatement {
  const statement = newStatement(admission, clientAddress, response && { response })
  statement.lasts()
  return statement
}
