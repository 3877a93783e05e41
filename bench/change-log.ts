/** What the change log costs while nobody listens: the same writes with and without it, in turns, as CPU. Run: node --import tsx bench/change-log.ts [writes at once] [rounds] */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'

/** Writes that are under way at once. */
const runToEnd = Number(process.argv[2] ?? 1)
const rounds = Number(process.argv[3] ?? 60)
const singles = runToEnd > 1 ? 640 : 40
const bulkObjects = 2_000
/** Those in which functions are compiled, and the trees grow to three levels. */
const warmRounds = 4
const directory = mkdtempSync(join(tmpdir(), 'ashlar-change-log-'))

type Setting = 'off' | 'on'
type Work = 'create' | 'update' | 'delete' | 'bulk'

async function open(changeLog: Setting): Promise<FederatedDatabase> {
  const store = await openStore(`lmdb:${join(directory, changeLog)}`)
  const fd = await FederatedDatabase.open({ alias: changeLog, store, changeLog })
  const attributes = ['license', 'owner'].map((attributeName) => ({ attributeName, logicalType: 'string' }))
  const year = { attributeName: 'year', logicalType: 'integer' }
  await fd.defineClasses([{ className: 'Car', isReferenceable: true, attributes: [...attributes, year] }], 'create')
  for (const [name, attributeName] of Object.entries({ byLicense: 'license', byYear: 'year' })) {
    const isUnique = name === 'byLicense'
    await fd.createIndex({ name, indexedClass: 'Car', isUnique, keyAttributes: [{ attributeName }] })
  }
  return fd
}

let made = 0
const carOf = (): Record<string, unknown> => ({ license: `AB ${++made}`, owner: 'Somebody or other', year: made % 100 })

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

interface Side {
  readonly fd: FederatedDatabase
  oids: string[]
}

/** What a tenth of the rounds stay below: those in which others on the machine have added least. */
function tenthOf(all: readonly number[]): number {
  return all.toSorted((one, other) => one - other)[Math.floor(all.length / 10)] as number
}

async function runYielding(act: (nth: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < singles) await act(next++)
  }
  await Promise.all(Array.from({ length: runToEnd }, worker))
}

async function doWork({ fd, oids }: Side, work: Work): Promise<unknown> {
  if (work === 'create') return runYielding(async () => oids.push(await fd.createObject('Car', carOf())))
  if (work === 'update') return runYielding((nth) => fd.updateObject(oids[nth] as string, { year: ++made % 100 }))
  if (work === 'delete') return runYielding((nth) => fd.deleteObject(oids[nth] as string))
  const cars = Array.from({ length: bulkObjects }, () => ({ class: 'Car', attributes: carOf() }))
  return fd.createObjects(cars as never)
}

try {
  const sides: Record<Setting, Side> = {
    off: { fd: await open('off'), oids: [] },
    on: { fd: await open('on'), oids: [] },
  }
  const ratios: Record<Work, number[]> = { create: [], update: [], delete: [], bulk: [] }
  const micros: Record<Setting, Record<Work, number[]>> = {
    off: { create: [], update: [], delete: [], bulk: [] },
    on: { create: [], update: [], delete: [], bulk: [] },
  }
  for (let nth = 0; nth < rounds + warmRounds; nth++) {
    const order: readonly Setting[] = nth % 2 === 0 ? ['off', 'on'] : ['on', 'off']
    for (const { oids } of Object.values(sides)) oids.length = 0
    // Close to each other, since what else the machine does comes and goes.
    for (const work of Object.keys(ratios) as Work[]) {
      const taken = { off: 0, on: 0 }
      for (const setting of order) taken[setting] = await cpuOf(() => doWork(sides[setting], work))
      if (nth < warmRounds) continue
      ratios[work].push(taken.on / taken.off)
      for (const setting of order) micros[setting][work].push(taken[setting])
    }
  }
  for (const [work, all] of Object.entries(ratios) as [Work, number[]][]) {
    const sorted = all.toSorted((one, other) => one - other)
    const writes = work === 'bulk' ? bulkObjects : singles
    const quartile = (nth: number): string => (sorted[Math.floor((nth * sorted.length) / 4)] as number).toFixed(3)
    const [off, on] = [tenthOf(micros.off[work]) / writes, tenthOf(micros.on[work]) / writes]
    process.stdout.write(
      `${work.padEnd(8)} off ${off.toFixed(1)} us, on ${on.toFixed(1)} us, ratio ${(on / off).toFixed(3)}; of rounds: median ${quartile(2)}, ` +
        `half of them ${quartile(1)} to ${quartile(3)}\n`,
    )
  }
  for (const { fd } of Object.values(sides)) {
    process.stdout.write(`${fd.alias}: ${(fd.store.fileBytes?.() ?? 0) / 2 ** 20} MiB\n`)
    await fd.close()
  }
} finally {
  rmSync(directory, { recursive: true })
}
