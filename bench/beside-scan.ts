/**
 * Point queries beside one scan after the other, on one core: `node --import tsx bench/beside-scan.ts [--of <other checkout>] [seconds]`. Eight clients ask by
 * a unique key, alone and while another client groups all objects again and again. Prints requests/s and p99 of both, and how long a scan takes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startChild } from './child-server.ts'
import { fillItems } from './items.ts'
import { openGenerator } from './load/generators.ts'
import type { Load } from './load/load.ts'
import { programOf } from './program.ts'

const { values: options, positionals } = parseArgs({
  options: { of: { type: 'string', default: '.' } },
  allowPositionals: true,
})
const seconds = Number(positionals[0] ?? 5)
const objects = 200_000
const rounds = 3
const connections = 8
const keys = 1_000
const scanned = 'FROM Item WHERE size >= 0 GROUP BY day RETURN day, COUNT(), SUM(size)'

const data = mkdtempSync(join(tmpdir(), 'ashlar-beside-'))
const generator = openGenerator(seconds)
try {
  await fillItems(join(data, 'default'), objects)
  const words = [programOf(options.of), 'serve', '--workers', '0', '--port', '0', '--data', data, '--log-level', 'warn']
  const server = await startChild(words, { core: availableParallelism() > 1 ? 0 : undefined })
  try {
    const load: Load = {
      url: server.url,
      connections,
      seconds,
      isOnce: false,
      requests: Array.from({ length: keys }, (_, i) => ({
        method: 'POST',
        path: '/v1/query',
        body: JSON.stringify({ query: 'FROM Item WHERE number = $n RETURN *', parameters: { n: i * 100 } }),
      })),
    }
    const alone = await scanMs(server.url)
    for (let round = 0; round < rounds; round++) {
      const quiet = await generator.run(load)
      const scans: number[] = []
      let isOver = false
      const scanning = (async () => {
        while (!isOver) scans.push(await scanMs(server.url))
      })()
      const beside = await generator.run(load)
      isOver = true
      await scanning
      const [before, after] = [quiet, beside].map((one) => Math.round(one.answered / one.seconds)) as [number, number]
      const slowest = Math.round(Math.max(...scans))
      process.stdout.write(
        `alone ${before}/s, p99 ${quiet.p99Ms.toFixed(1)} ms; beside a scan ${after}/s (${(after / before).toFixed(2)}), ` +
          `p99 ${beside.p99Ms.toFixed(1)} ms, refused ${beside.refused}; a scan ${Math.round(alone)} ms alone, ${slowest} ms beside\n`,
      )
    }
  } finally {
    await server.stop()
  }
} finally {
  await generator.close()
  rmSync(data, { recursive: true, force: true })
}

async function scanMs(url: string): Promise<number> {
  const started = performance.now()
  const reply = await fetch(`${url}/v1/query`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: scanned,
  })
  await reply.text()
  if (reply.status !== 200) throw new Error(`the scan was answered ${reply.status}`)
  return performance.now() - started
}
