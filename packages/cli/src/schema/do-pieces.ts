/** Splits DO text into code, quoted texts and comments. */

export interface Piece {
  readonly from: number
  readonly to: number
  readonly kind: 'code' | 'text' | 'comment'
}

/** Yields characters of code one by one, quoted texts and comments as wholes. */
export function* piecesOf(text: string): Generator<Piece> {
  const token = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(['"`])(?:(?!\1)[^\\]|\\[\s\S])*(?:\1|$)/y
  for (let from = 0; from < text.length; ) {
    token.lastIndex = from
    const found = token.exec(text)?.[0]
    const to = from + (found?.length ?? 1)
    yield { from, to, kind: found === undefined ? 'code' : found.startsWith('/') ? 'comment' : 'text' }
    from = to
  }
}

/** Returns the expression so that anything may follow: one that ends with a comment to the end of the line gets a line end. */
export function closedExpression(expression: string): string {
  let last: Piece | undefined
  for (const piece of piecesOf(expression)) last = piece
  const isOpen = last?.kind === 'comment' && expression.startsWith('//', last.from)
  return isOpen ? `${expression}\n` : expression
}
