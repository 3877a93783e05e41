/** Operators of DO: their names, spellings and precedences. */

export type OperatorName =
  | 'equal'
  | 'notEqual'
  | 'less'
  | 'lessOrEqual'
  | 'greater'
  | 'greaterOrEqual'
  | 'not'
  | 'and'
  | 'or'
  | 'xor'
  | 'plus'
  | 'minus'
  | 'multiply'
  | 'divide'
  | 'modulo'
  | 'negate'
  | 'identity'
  | 'bitAnd'
  | 'bitOr'
  | 'bitXor'
  | 'bitComplement'
  | 'shiftLeft'
  | 'shiftRight'
  | 'contains'
  | 'matches'
  | 'notMatches'
  | 'matchesIgnoringCase'
  | 'notMatchesIgnoringCase'
  | 'in'
  /** `IN (…)`: the value, then the elements in the parentheses. */
  | 'inList'
  | 'between'
  | 'like'
  | 'ilike'
  | 'any'
  | 'all'
  | 'anyEqual'
  | 'allEqual'

export interface InfixOperator {
  readonly name: OperatorName
  readonly precedence: number
}

/** From loose to tight (docs/query-language.md, Operators). Operators of one level are left-associative. */
export const precedence = {
  or: 1,
  xor: 2,
  and: 3,
  notWord: 4,
  bitOr: 5,
  bitXor: 6,
  bitAnd: 7,
  equality: 8,
  relational: 9,
  shift: 10,
  additive: 11,
  multiplicative: 12,
  unary: 13,
} as const

function infix(name: OperatorName, level: keyof typeof precedence): InfixOperator {
  return { name, precedence: precedence[level] }
}

export const infixSymbols: ReadonlyMap<string, InfixOperator> = new Map([
  ['||', infix('or', 'or')],
  ['^^', infix('xor', 'xor')],
  ['&&', infix('and', 'and')],
  ['|', infix('bitOr', 'bitOr')],
  ['^', infix('bitXor', 'bitXor')],
  ['&', infix('bitAnd', 'bitAnd')],
  ['=', infix('equal', 'equality')],
  ['==', infix('equal', 'equality')],
  ['!=', infix('notEqual', 'equality')],
  ['<>', infix('notEqual', 'equality')],
  ['<', infix('less', 'relational')],
  ['<=', infix('lessOrEqual', 'relational')],
  ['>', infix('greater', 'relational')],
  ['>=', infix('greaterOrEqual', 'relational')],
  ['=~', infix('matches', 'relational')],
  ['!~', infix('notMatches', 'relational')],
  ['=~~', infix('matchesIgnoringCase', 'relational')],
  ['!~~', infix('notMatchesIgnoringCase', 'relational')],
  ['<<', infix('shiftLeft', 'shift')],
  ['>>', infix('shiftRight', 'shift')],
  ['+', infix('plus', 'additive')],
  ['-', infix('minus', 'additive')],
  ['*', infix('multiply', 'multiplicative')],
  ['/', infix('divide', 'multiplicative')],
  ['%', infix('modulo', 'multiplicative')],
])

export const infixWords: ReadonlyMap<string, InfixOperator> = new Map([
  ['OR', infix('or', 'or')],
  ['XOR', infix('xor', 'xor')],
  ['AND', infix('and', 'and')],
  ['BIT_OR', infix('bitOr', 'bitOr')],
  ['BIT_XOR', infix('bitXor', 'bitXor')],
  ['BIT_AND', infix('bitAnd', 'bitAnd')],
  ['CONTAINS', infix('contains', 'relational')],
  ['IN', infix('in', 'relational')],
  ['ANY', infix('any', 'relational')],
  ['ALL', infix('all', 'relational')],
  ['ANY_EQUAL', infix('anyEqual', 'relational')],
  ['ALL_EQUAL', infix('allEqual', 'relational')],
  ['PLUS', infix('plus', 'additive')],
  ['MINUS', infix('minus', 'additive')],
  ['MULTIPLY', infix('multiply', 'multiplicative')],
  ['DIVIDE', infix('divide', 'multiplicative')],
  ['MODULO', infix('modulo', 'multiplicative')],
])

export const prefixSymbols: ReadonlyMap<string, OperatorName> = new Map([
  ['!', 'not'],
  ['~', 'bitComplement'],
  ['+', 'identity'],
  ['-', 'negate'],
])

/** Operators as shown in messages and plans. */
export const operatorText: Readonly<Record<OperatorName, string>> = {
  equal: '=',
  notEqual: '!=',
  less: '<',
  lessOrEqual: '<=',
  greater: '>',
  greaterOrEqual: '>=',
  not: 'NOT',
  and: 'AND',
  or: 'OR',
  xor: 'XOR',
  plus: '+',
  minus: '-',
  multiply: '*',
  divide: '/',
  modulo: '%',
  negate: '-',
  identity: '+',
  bitAnd: '&',
  bitOr: '|',
  bitXor: '^',
  bitComplement: '~',
  shiftLeft: '<<',
  shiftRight: '>>',
  contains: 'CONTAINS',
  matches: '=~',
  notMatches: '!~',
  matchesIgnoringCase: '=~~',
  notMatchesIgnoringCase: '!~~',
  in: 'IN',
  inList: 'IN',
  between: 'BETWEEN',
  like: 'LIKE',
  ilike: 'ILIKE',
  any: 'ANY',
  all: 'ALL',
  anyEqual: 'ANY_EQUAL',
  allEqual: 'ALL_EQUAL',
}

interface CallableOperator {
  readonly name: OperatorName
  readonly operands: number
}

/** Operators with call syntax, such as AND(a, b), and their numbers of operands. */
export const callableOperators: ReadonlyMap<string, CallableOperator> = new Map<string, CallableOperator>([
  ...[...infixWords].map(([word, { name }]): [string, CallableOperator] => [word, { name, operands: 2 }]),
  ['NOT', { name: 'not', operands: 1 }],
  ['BIT_COMP', { name: 'bitComplement', operands: 1 }],
])
