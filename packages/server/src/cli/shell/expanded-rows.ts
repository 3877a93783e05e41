/** `\x`: shows each value of a row on a line, in full. */
import stringWidth from 'string-width'
import { cellOf } from '../client/objects.ts'
import { type RowsTarget, recordOf } from '../client/rows.ts'
import { printable } from '../table.ts'

/** Resolves with the number of rows. Throws what `rows` and the target throw. */
export async function writeExpanded(rows: AsyncIterable<unknown>, target: RowsTarget): Promise<number> {
  let count = 0
  for await (const row of rows) {
    const values = Object.entries(recordOf(row)).map(
      ([name, value]) => [printable(name), printable(cellOf(value))] as const,
    )
    const width = values.reduce((widest, [name]) => Math.max(widest, stringWidth(name)), 0)
    const lines = values.map(([name, value]) => `${name}${' '.repeat(width - stringWidth(name))}  ${value}`.trimEnd())
    await target.lines([target.tableOptions.styleHead(`-- row ${++count}`), ...lines])
  }
  return count
}
