/** Names of types and functions in other query languages. */

const typesOfSql: Readonly<Record<string, string>> = {
  INT: 'Integer',
  BIGINT: 'Integer',
  SMALLINT: 'Integer',
  LONG: 'Integer',
  NUMBER: 'Real',
  DOUBLE: 'Real',
  NUMERIC: 'Decimal',
  TEXT: 'String',
  CHAR: 'String',
  VARCHAR: 'String',
  BOOL: 'Boolean',
  TIMESTAMP: 'DateTime',
  TIMESTAMPTZ: 'Instant',
  UUID: 'Guid',
  BLOB: 'Bytes',
  BYTEA: 'Bytes',
  BINARY: 'Bytes',
  VARBINARY: 'Bytes',
  JSONB: 'Json',
}

const functionsOfSql: Readonly<Record<string, string>> = {
  UCASE: 'UPPER',
  TOUPPER: 'UPPER',
  LCASE: 'LOWER',
  TOLOWER: 'LOWER',
  LEN: 'LENGTH',
  CHAR_LENGTH: 'LENGTH',
  SIZE: 'COUNT',
  IFNULL: 'COALESCE',
  NVL: 'COALESCE',
  ISNULL: 'IS_NULL',
  CEIL: 'CEILING',
  TRUNC: 'TRUNCATE',
  RANDOM: 'RAND',
  AVERAGE: 'AVG',
  MEAN: 'AVG',
  DAY: 'DAY_OF_MONTH',
  DAYOFWEEK: 'DAY_OF_WEEK',
  STARTSWITH: 'STARTS_WITH',
  ENDSWITH: 'ENDS_WITH',
}

/** Functions of other languages that are written as expressions here. */
const writtenOut: Readonly<Record<string, string>> = {
  CLASS: 'CAST(x AS C) IS NOT NULL, which asks whether an object is of a class',
  GREATEST: 'CASE WHEN a > b THEN a ELSE b END',
  LEAST: 'CASE WHEN a < b THEN a ELSE b END',
  NULLIF: 'CASE a WHEN b THEN NULL ELSE a END',
  POWER: 'EXP(b * LOG(a))',
  QUARTER: '(MONTH(d) + 2) / 3',
  STRING_AGG: 'COLLECT(a), which is a list',
}

/** Returns `. Did you mean Integer?` without the final punctuation; undefined for an unknown name. */
export function hintOfType(name: string): string | undefined {
  return hintIn(typesOfSql, name)
}

export function hintOfFunction(name: string): string | undefined {
  const word = name.toUpperCase()
  return Object.hasOwn(writtenOut, word) ? `; it is written ${writtenOut[word]}` : hintIn(functionsOfSql, name)
}

function hintIn(synonyms: Readonly<Record<string, string>>, name: string): string | undefined {
  const word = name.toUpperCase()
  return Object.hasOwn(synonyms, word) ? `. Did you mean ${synonyms[word]}?` : undefined
}
