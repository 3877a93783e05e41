/** One run of a load against a server, with its CPU time over the same while. */
import type { ChildServer } from '../child-server.ts'
import type { Generator, Load } from '../load/load.ts'
import { busyShare, type Cores, coreTime } from '../machine.ts'
import type { Figures } from './figures.ts'

export interface Bench {
  readonly generator: Generator
  /** Undefined where everything shares what cores there are. */
  readonly cores: Cores | undefined
}

/** `objects`: how many a request stands for, of which the figures then are. */
export async function measure(
  { generator, cores }: Bench,
  server: ChildServer,
  load: Omit<Load, 'url'>,
  objects = 1,
): Promise<Figures> {
  const coreBefore = cores === undefined ? undefined : coreTime(cores.generator)
  const cpuBefore = server.cpuSeconds()
  const { answered, refused, seconds, p50Ms, p99Ms } = await generator.run({ ...load, url: server.url })
  const cpu = server.cpuSeconds() - cpuBefore
  const done = Math.max(1, answered + refused) * objects
  return {
    perSecond: (answered * objects) / seconds,
    cpuMicroseconds: (cpu / done) * 1e6,
    p50Ms,
    p99Ms,
    refused,
    ...(cores === undefined || coreBefore === undefined
      ? {}
      : { generatorBusy: busyShare(coreBefore, coreTime(cores.generator)) }),
  }
}
