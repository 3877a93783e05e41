/** A live query of the typed interface, as events. */
import type { LiveEvent } from '../live-query.ts'
import type { FollowOptions } from '../options.ts'
import type { Connection } from './connection.ts'
import { rowsOf } from './rows-of.ts'
import { type Finding, findStatements, type Values } from './statement.ts'

/** Follows the rows that `find` would return. */
export async function* followRows(
  connection: Connection,
  className: string,
  finding: Finding,
  options: FollowOptions,
): AsyncGenerator<LiveEvent<Values>, void> {
  const [{ text, parameters }] = findStatements(className, finding)
  for await (const event of connection.followQuery<Values>(text, parameters, options)) {
    if ('row' in event && event.row !== undefined) {
      const [row] = rowsOf([event.row], finding)
      yield { ...event, ...(row !== undefined && { row }) }
    } else yield event
  }
}
