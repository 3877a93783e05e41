/** Parser of `OVER ([PARTITION BY …] [ORDER BY …])` after a call. */
import type { CallExpression, Expression, OrderItem, WindowExpression } from '../language/ast.ts'
import { advice } from './advice.ts'
import { hintText, noFrames } from './hints.ts'
import type { TokenCursor } from './token-cursor.ts'

/** Returns the call itself if OVER does not follow. */
export function parseWindow(
  cursor: TokenCursor,
  call: CallExpression,
  parseExpression: (cursor: TokenCursor) => Expression,
): CallExpression | WindowExpression {
  if (!cursor.isWord('OVER') || !cursor.isSymbol('(', 1)) return call
  cursor.next()
  const { start } = cursor.next()
  const partitionBy = cursor.takeWords('PARTITION', 'BY') ? cursor.list(() => parseExpression(cursor)) : []
  const orderBy = cursor.takeWords('ORDER', 'BY')
    ? cursor.list((): OrderItem => {
        const expression = parseExpression(cursor)
        const isDescending = cursor.takeWord('DESC')
        if (!isDescending) cursor.takeWord('ASC')
        return { expression, isDescending, ...cursor.spanFrom(expression.start) }
      })
    : []
  if (!cursor.isSymbol(')')) {
    const before = orderBy.length > 0 ? [] : partitionBy.length > 0 ? ['ORDER BY'] : ['PARTITION BY', 'ORDER BY']
    const isFrame = ['ROWS', 'RANGE', 'GROUPS'].includes(cursor.wordAt() ?? '')
    throw cursor.unexpected([...before, "')'"], isFrame ? hintText(noFrames) : advice(cursor))
  }
  cursor.next()
  return { kind: 'window', call, partitionBy, orderBy, over: cursor.spanFrom(start), ...cursor.spanFrom(call.start) }
}
