/** `ashlar bench`: a short, bounded load on a server, to see what it and the way to it can do. */
import type { Command } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addBenchCommand(program: Command): void {
  addClientCommand(
    program,
    'bench',
    'Benchmark your own server for some seconds with reads and writes of small objects, and print throughput and latencies. ' +
      'The objects belong to a class of their own, which is removed at the end, even after Ctrl-C.',
    'runBench',
  )
    .option('--seconds <number>', 'duration, up to 600 (default: 10)')
    .option('--connections <number>', 'concurrent requests, up to 256 (default: 16)')
    .option(
      '--reads <percent>',
      'percentage of reads; the rest alternates between creating and updating objects (default: 90)',
    )
}
