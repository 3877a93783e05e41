/** What the change log costs while nobody listens: the same writes with and without it, in turns, as CPU. Run: node --import tsx bench/change-log.ts [writes at once] */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'

const rounds = 14
const singles = Number(process.argv[2] ?? 1) > 1 ? 1_600 : 120
/** Writes that are under way at once. */
const atOnce = Number(process.argv[2] ?? 1)
const bulkObjects = 5_000
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

async function round(fd: FederatedDatabase): Promise<Record<Work, number>> {
  const oids: string[] = []
  const inTurns = async (act: (nth: number) => Promise<unknown>): Promise<void> => {
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < singles) await act(next++)
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
  }
  const each = (act: (oid: string) => Promise<unknown>) => () => inTurns((nth) => act(oids[nth] as string))
  return {
    create: await cpuOf(() => inTurns(async () => oids.push(await fd.createObject('Car', carOf())))),
    update: await cpuOf(each((oid) => fd.updateObject(oid, { year: ++made % 100 }))),
    delete: await cpuOf(each((oid) => fd.deleteObject(oid))),
    bulk: await cpuOf(() =>
      fd.createObjects(Array.from({ length: bulkObjects }, () => ({ class: 'Car', attributes: carOf() })) as never),
    ),
  }
}

try {
  const fds = { off: await open('off'), on: await open('on') }
  const ratios: Record<Work, number[]> = { create: [], update: [], delete: [], bulk: [] }
  const micros: Record<Setting, Record<Work, number>> = {
    off: { create: 0, update: 0, delete: 0, bulk: 0 },
    on: { create: 0, update: 0, delete: 0, bulk: 0 },
  }
  for (let nth = 0; nth < rounds; nth++) {
    const first: Setting = nth % 2 === 0 ? 'off' : 'on'
    const taken = { [first]: await round(fds[first]) } as Record<Setting, Record<Work, number>>
    const second: Setting = first === 'off' ? 'on' : 'off'
    taken[second] = await round(fds[second])
    // The first rounds are those in which functions are compiled.
    if (nth < 2) continue
    for (const work of Object.keys(ratios) as Work[]) {
      ratios[work].push(taken.on[work] / taken.off[work])
      micros.off[work] += taken.off[work]
      micros.on[work] += taken.on[work]
    }
  }
  for (const [work, all] of Object.entries(ratios) as [Work, number[]][]) {
    const sorted = all.sort((one, other) => one - other)
    const count = (rounds - 2) * (work === 'bulk' ? bulkObjects : singles)
    const each = (setting: Setting): string => (micros[setting][work] / count).toFixed(1)
    const median = sorted[Math.floor(sorted.length / 2)] as number
    process.stdout.write(
      `${work.padEnd(8)} off ${each('off')} us, on ${each('on')} us, ratio: median ${median.toFixed(3)}, `,
    )
    process.stdout.write(`${sorted[0]?.toFixed(3)} to ${sorted.at(-1)?.toFixed(3)}\n`)
  }
  for (const fd of Object.values(fds)) {
    process.stdout.write(`${fd.alias}: ${(fd.store.fileBytes?.() ?? 0) / 2 ** 20} MiB\n`)
    await fd.close()
  }
} finally {
  rmSync(directory, { recursive: true })
}
