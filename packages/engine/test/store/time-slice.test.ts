/** Whose turn it is while connections arrive, counted in turns of the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import {
  awaitStart,
  mayBegin,
  noteArrival,
  noteRequest,
  openSliceOfWork,
  openTimeSlice,
} from '../../src/store/time-slice.ts'

/** The turns of the event loop, counted from 0, in which work that never ends had a slice. `arrives`: whether a connection does in a turn. */
async function turnsOfSlices(turns: number, arrives: (turn: number) => boolean): Promise<number[]> {
  const had: number[] = []
  let turn = 0
  let isOver = false
  const work = async (): Promise<void> => {
    const slice = openTimeSlice()
    while (!isOver) {
      while (!slice.isOver);
      await slice.yieldIfDue()
      had.push(turn)
    }
  }
  const works = work()
  for (; turn < turns; turn++) {
    if (arrives(turn)) noteArrival()
    await nextTurn()
  }
  isOver = true
  await works
  return had
}

it('slices of long work have each turn where nothing arrives', async () => {
  const had = await turnsOfSlices(20, () => false)
  expect(had.length).toBeGreaterThan(15)
})

it('slices wait while connections arrive turn after turn, and until the last is read', async () => {
  const had = await turnsOfSlices(60, (turn) => turn < 50)
  expect(had.filter((turn) => turn > 1 && turn < 50)).toEqual([])
  expect(had.filter((turn) => turn > 54).length).toBeGreaterThan(2)
})

it('slices do not wait for ever: connections that never cease to arrive leave them a turn every few milliseconds', async () => {
  const within = (every: number) => {
    return turnsOfSlices(480, (turn) => {
      const until = performance.now() + 1
      while (performance.now() < until);
      return turn % every === 0
    })
  }
  const [inAFlood, nowAndThen] = [await within(1), await within(3)]
  expect(inAFlood.length).toBeGreaterThanOrEqual(2)
  expect(nowAndThen.length).toBeGreaterThan(inAFlood.length)
})

it('slices wait while request follows request, for about as long as one of them lasts', async () => {
  const had = await turnsOfSlices(600, () => {
    noteRequest()
    return false
  })
  expect(had.length).toBeGreaterThanOrEqual(1)
  expect(had.length).toBeLessThan(300)
})

it('requests that have to queue for their turn have theirs before the next slice of long work', async () => {
  let [answered, isOver] = [0, false]
  const answeredBetween: number[] = []
  const work = async (): Promise<void> => {
    const slice = openTimeSlice()
    while (!isOver) {
      while (!slice.isOver);
      await slice.yieldIfDue()
      answeredBetween.push(answered)
      answered = 0
    }
  }
  const works = work()
  const client = async (): Promise<void> => {
    while (!isOver) {
      noteRequest()
      await awaitStart()
      answered++
      await nextTurn()
    }
  }
  const clients = Array.from({ length: 8 }, client)
  while (answeredBetween.length < 10) await nextTurn()
  isOver = true
  await Promise.all([works, ...clients])
  // Not just the eight that have come meanwhile.
  expect(Math.max(...answeredBetween)).toBeGreaterThan(16)
})

it('while slices wait for arrivals, short work begins at once, and one that is longer than a slice: as much would begin as arrives', async () => {
  await untilIdle()
  let isOver = false
  const work = async (): Promise<void> => {
    const slice = openTimeSlice()
    do {
      while (!slice.isOver);
      await slice.yieldIfDue()
    } while (!isOver)
  }
  const first = work()
  noteArrival()
  expect([mayBegin(), mayBegin(), mayBegin()]).toEqual([true, true, true])
  const second = work()
  const turns: boolean[] = []
  for (let turn = 0; turn < 3; turn++) {
    turns.push(mayBegin())
    await nextTurn()
    noteArrival()
  }
  // The first slice that is given to those who wait is within ten milliseconds.
  expect(turns[0]).toBe(false)
  isOver = true
  await Promise.all([first, second])
  expect(mayBegin()).toBe(true)
})

it('once work has used up its slice, nothing else begins in that turn, whether at once or in line', async () => {
  await untilIdle()
  expect(mayBegin()).toBe(true)
  const runToEnd = useSliceUp()
  expect(mayBegin()).toBe(false)
  await runToEnd
  const turn = await awaitStart()
  expect(turn.isOver).toBe(false)
  const inLine = useSliceUp()
  expect(turn.isOver).toBe(true)
  await inLine
})

it('in a turn in which work that has begun had a slice, what may be long has to queue for the next one', async () => {
  let isOver = false
  const begins: boolean[] = []
  const work = async (): Promise<void> => {
    const slice = openTimeSlice()
    let slices = 0
    while (!isOver) {
      while (!slice.isOver);
      await slice.yieldIfDue()
      // The second slice counts as new work.
      if (++slices > 1) process.nextTick(() => begins.push(mayBegin()))
    }
  }
  const works = work()
  while (begins.length < 3) await nextTurn()
  isOver = true
  expect(begins).not.toContain(true)
  await works
  await untilIdle()
  expect(mayBegin()).toBe(true)
})

/** Nothing of the tests before has a turn any more. */
async function untilIdle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn()
}

function useSliceUp(): Promise<void> | undefined {
  const slice = openTimeSlice()
  while (!slice.isOver);
  return slice.yieldIfDue()
}

it('long work has half of the turns however much begins, of which each has two slices', async () => {
  let [slices, isOver] = [0, false]
  const work = async (): Promise<void> => {
    const slice = openTimeSlice()
    while (!isOver) {
      while (!slice.isOver);
      await slice.yieldIfDue()
      slices++
    }
  }
  const beginning = async (): Promise<void> => {
    await awaitStart()
    const slice = openTimeSlice()
    while (!slice.isOver);
    await slice.yieldIfDue()
    while (!slice.isOver);
  }
  const works = work()
  const others: Promise<void>[] = []
  for (let turn = 0; turn < 100; turn++) {
    others.push(beginning(), beginning())
    await nextTurn()
  }
  isOver = true
  expect(slices).toBeGreaterThan(40)
  await Promise.all([works, ...others])
})

it('what work waits for others is not part of its slice', async () => {
  const slice = openSliceOfWork()
  const plain = openTimeSlice()
  while (!plain.isOver) await nextTurn()
  expect(slice.isOver).toBe(false)
  while (!slice.isOver);
})

it('slices are shorter while requests come', async () => {
  // Each look at the clock is a millisecond after the one before. The last test of the file: what is kept of this time lies ahead.
  let now = performance.now() + 1_000
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now++)
  const looksOfSlice = async (arrives: () => void): Promise<number> => {
    const slice = openTimeSlice()
    let looks = 0
    for (let i = 0; i < 6; i++) {
      while (!slice.isOver);
      const pause = slice.yieldIfDue()
      arrives()
      await pause
      for (looks = 0; !slice.isOver; looks++);
    }
    return looks
  }
  try {
    expect([await looksOfSlice(() => undefined), await looksOfSlice(noteRequest)]).toEqual([4, 1])
  } finally {
    clock.mockRestore()
  }
})

it('turns alternate between owners, however much work one of them has', async () => {
  const order: string[] = []
  const turnsOf = async (owner: string, name: string, turns: number): Promise<void> => {
    const slice = openTimeSlice({ owner })
    for (let turn = 0; turn < turns; turn++) {
      while (!slice.isOver);
      await slice.yieldIfDue()
      order.push(name)
    }
  }
  const many = Array.from({ length: 10 }, (_, at) => turnsOf('many', `many${at}`, 5))
  await Promise.all([...many, turnsOf('few', 'few', 5)])
  // The last turn of the one comes before the others have had more than one each, and as many again for where turns of another kind came between.
  expect(order.lastIndexOf('few')).toBeLessThan(25)
})

it('a slice of work does not become longer by the turns of others before it', async () => {
  const slice = openSliceOfWork()
  const others = Array.from({ length: 3 }, async () => {
    const own = openTimeSlice()
    for (let turn = 0; turn < 4; turn++) {
      while (!own.isOver);
      await own.yieldIfDue()
    }
  })
  for (let turn = 0; turn < 3; turn++) {
    while (!slice.isOver);
    await slice.yieldIfDue()
    const beganMs = performance.now()
    // A look, as work has them, before it goes on for longer than it may.
    expect(slice.isOver).toBe(false)
    vi.spyOn(performance, 'now').mockReturnValue(beganMs + 6)
    expect(slice.isOver).toBe(true)
    vi.restoreAllMocks()
  }
  await Promise.all(others)
})
