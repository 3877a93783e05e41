/** Tokens of DO. */
import type { LiteralValue, Span } from '../language/ast.ts'

export type Token = Span &
  (
    | { readonly kind: 'name'; readonly text: string; readonly isQuoted: boolean }
    | { readonly kind: 'literal'; readonly text: string; readonly literal: LiteralValue }
    /** `$name` */
    | { readonly kind: 'variable'; readonly text: string }
    /** `$$NAME`, in upper case. */
    | { readonly kind: 'system'; readonly text: string }
    | { readonly kind: 'symbol'; readonly text: string }
    | { readonly kind: 'end'; readonly text: string }
  )
