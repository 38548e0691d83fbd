/** A value in SQL. Integers and decimals are exact: `unscaled` × 10^-`scale`. */
export type SqlConstant =
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'text'; readonly value: string }
  /** `bits` is the width of the integer type. */
  | { readonly type: 'integer'; readonly value: bigint; readonly bits: 32 | 64 }
  | { readonly type: 'decimal'; readonly unscaled: bigint; readonly precision: number; readonly scale: number }
  | { readonly type: 'double'; readonly value: number }

/** A part of SQL that only the engine itself can run. */
export interface OtherSyntax {
  readonly kind: 'other'
  /** In the words of SQL, such as `a join` or `the function sum()`. */
  readonly what: string
  /** Whether its result depends on which rows are in a batch. */
  readonly isPerBatch: boolean
}

/** An expression as it was written, with names as written and operators in the words of SQL. */
export type SqlExpression =
  | { readonly kind: 'column'; readonly path: readonly string[] }
  | { readonly kind: 'constant'; readonly value: SqlConstant }
  /**
   * A function by its lower-case name, or an operator: `=`, `and`, `not`, `is null`, `is distinct from`, `in` (value, then
   * elements), `between`, `coalesce`, `case` (condition and result in turn, then the ELSE), `+`, `~~` (LIKE).
   */
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly SqlExpression[] }
  /** `type` is in the engine's own words; `what` says what is cast to, for messages. */
  | { readonly kind: 'cast'; readonly type: SqlType; readonly value: SqlExpression }
  | OtherSyntax

/** A type that a CAST names. */
export interface SqlType {
  /** In the engine's own words, such as `BIGINT`. */
  readonly name: string
  readonly precision?: number
  readonly scale?: number
}

/** A column of a SELECT: an expression with its alias, or all columns of the relation. */
export type SqlItem =
  | { readonly kind: 'value'; readonly value: SqlExpression; readonly alias: string | undefined }
  | { readonly kind: 'star'; readonly relation: string | undefined; readonly except: readonly string[] }

/** What a SELECT reads. */
export type SqlRelation =
  | { readonly kind: 'table'; readonly name: string; readonly alias: string | undefined }
  | { readonly kind: 'subquery'; readonly query: SqlQuery; readonly alias: string | undefined }
  | OtherSyntax

/** A query of `WITH`, which sees those before it. */
export interface NamedSqlQuery {
  readonly name: string
  readonly query: SqlQuery
}

/** A query that handles each row alone, or `other`. */
export type SqlQuery =
  | {
      readonly kind: 'select'
      readonly named: readonly NamedSqlQuery[]
      readonly items: readonly SqlItem[]
      readonly from: SqlRelation
      readonly where: SqlExpression | undefined
    }
  | { readonly kind: 'union all'; readonly named: readonly NamedSqlQuery[]; readonly parts: readonly SqlQuery[] }
  | OtherSyntax
