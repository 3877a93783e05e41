/** `ashlar bench`: a short, bounded load on a server, to see what it and the way to it can do. */
import type { Command } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addBenchCommand(program: Command): void {
  addClientCommand(
    program,
    'bench',
    'Load a server that is yours for some seconds with reads and writes of small objects, and print requests a second and latencies. ' +
      'The objects are of a class of its own, which is removed at the end, also after Ctrl-C.',
    'runBench',
  )
    .option('--seconds <number>', 'for how long, up to 600 (default: 10)')
    .option('--connections <number>', 'requests under way at any time, up to 256 (default: 16)')
    .option('--reads <percent>', 'share of reads; the others create objects and change them by turns (default: 90)')
}
