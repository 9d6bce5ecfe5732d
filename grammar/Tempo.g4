// The Tempo language. The parser does not read the lexer's tokens as they are: frontend/parse/tokens.cpp stands between.
// It removes the newlines that do not end a statement, writes every remaining separator (newline, or `;` in braces) as NL, ends
// every statement with exactly one NL, and gives soft keywords (the `tokens` below) their type by position; a word that is
// no keyword where it stands stays a NAME. It passes on balanced brackets only.
grammar Tempo;

tokens {
  NL,
  // first word of a statement
  DIM, SIZE, INPUT, OPTION, LET, NEXT, OUTPUT, REPORT, PRINT, ASSERT, SAVE, USE, FN, MODULE, PARAM, FOR, PURE, EXTERN,
  // after an operand
  WHEN, OTHERWISE, UNTIL, TO, AS, EVERY, WITHIN, FROM, BATCHED,
  // a name before `[ name in`, and a name before `in`
  COMPREHENSION, BINDER
}

file : line* EOF ;

// Recovery is here: an error inside a statement skips to its end.
line : statement NL ;
  catch [antlr4::ParseCancellationException &] {
    _localctx->exception = std::current_exception();
    _errHandler->recover(this, _localctx->exception);
  }

statement
  : DIM dimDecl (',' dimDecl)* (UNTIL expr)?                                       # dimStmt
  | SIZE sizeDecl (',' sizeDecl)*                                                  # sizeStmt
  | INPUT inputItem (',' inputItem)*                                               # inputStmt
  | OPTION NAME (':' type)? '=' expr STRING?                                       # optionStmt
  | LET letNames '=' range                                                         # letStmt
  | NEXT '(' NAME (',' NAME)* ')' expr '=' expr                                    # nextStmt
  | OUTPUT outputItem (',' outputItem)*                                            # outputStmt
  | REPORT (every ':')? reportItem (',' reportItem)* (WHEN expr)?                  # reportStmt
  | PRINT reportItem (',' reportItem)* (WHEN expr)?                                # printStmt
  | ASSERT expr (',' STRING)? (WHEN expr)?                                         # assertStmt
  | SAVE NAME (',' NAME)* every? (TO STRING)?                                      # saveStmt
  | USE useItem (',' useItem)*                                                     # useStmt
  | FN NAME dimParams? '(' params? ')' '=' (block | expr)                          # fnStmt
  | MODULE NAME dimParams? '(' params? ')' '='? block                              # moduleStmt
  | PARAM NAME (':' type)? ('=' expr)?                                             # paramStmt
  | FOR BINDER 'in' expr block                                                     # forStmt
  | PURE? EXTERN FN NAME dimParams? '(' params? ')' '->' externResult FROM STRING (BATCHED NAME)?  # externStmt
  | expr ((':' type)? '=' expr (WHEN expr | OTHERWISE)?)?                          # equationStmt
  ;

block : '{' line* '}' ;

dimDecl : NAME ':' NAME ('>=' expr)? ('=' expr)? ;
sizeDecl : NAME ('>=' expr)? ('=' expr)? ;
inputItem : NAME ('[' NAME (',' NAME)* ']')? (':' type)? ('=' expr)? ;
letNames : NAME (',' NAME)* | '(' NAME (',' NAME)* ')' ;
outputItem : expr (TO STRING)? ;
reportItem : (NAME '=')? expr ;
every : EVERY everyCount NAME ;
everyCount : NUMBER | NAME | '(' expr ')' ;
useItem : (NAME ('.' NAME)* | STRING) (AS NAME)? ;
dimParams : '[' NAME (',' NAME)* ']' ;
params : param (',' param)* ','? ;
param : NAME (':' type)? ('=' expr)? ;
type : NAME ('[' exprs? ']')? | '[' exprs? ']' ;
externResult : type | '(' type (',' type)* ')' ;
exprs : expr (',' expr)* ','? ;

expr
  : expr '.' NAME                                               # member
  | expr '(' args? ')'                                          # call
  | expr '[' indices ']'                                        # index
  | <assoc = right> expr op = '**' expr                         # binary
  | op = '-' expr                                               # unary
  | expr op = ('@' | '*' | '/' | '//' | '%') expr               # binary
  | expr op = ('+' | '-') expr                                  # binary
  | expr op = ('==' | '!=' | '<' | '<=' | '>' | '>=') expr      # binary
  | op = 'not' expr                                             # unary
  | expr op = 'and' expr                                        # binary
  | expr op = 'or' expr                                         # binary
  | COMPREHENSION '[' binder (',' binder)* ']' expr             # comprehension
  | 'if' expr 'then' expr 'else' expr                           # if
  | '(' element (',' element)* comma = ','? ')'                 # parens
  | '[' (expr (FOR BINDER 'in' expr | (',' expr)* ','?))? ']'   # list
  | NAME                                                        # name
  | NUMBER                                                      # number
  | STRING                                                      # string
  | value = ('true' | 'false')                                  # bool
  ;

// `over = t in 0 : T-1`, also inside the parentheses of `over = (b, t in 0 : T-1)`; nowhere else.
element : BINDER 'in' range | expr ;
args : arg (',' arg)* ','? ;
arg : (NAME '=')? argValue ;
argValue : BINDER 'in' range | range ;
binder : BINDER 'in' range ;

indices : indexList? (semicolon = ';' indexList?)? ;
indexList : indexItem (',' indexItem)* ','? ;
indexItem : ELLIPSIS | (NAME '=')? indexValue ;
indexValue : expr (within | slice)? | slice ;
within : WITHIN lo = expr ':' hi = expr ;
slice : ':' hi = expr? (':' step = expr?)? ;
range : lo = expr (':' hi = expr (':' step = expr)?)? ;

IF : 'if' ;
THEN : 'then' ;
ELSE : 'else' ;
IN : 'in' ;
AND : 'and' ;
OR : 'or' ;
NOT : 'not' ;
TRUE : 'true' ;
FALSE : 'false' ;

LPAREN : '(' ;
RPAREN : ')' ;
LBRACK : '[' ;
RBRACK : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;
SEMI : ';' ;
COMMA : ',' ;
COLON : ':' ;
DOT : '.' ;
ELLIPSIS : '...' ;
ARROW : '->' ;
EQ : '==' ;
NE : '!=' ;
LE : '<=' ;
GE : '>=' ;
LT : '<' ;
GT : '>' ;
ASSIGN : '=' ;
POW : '**' ;
DSLASH : '//' ;
PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
AT : '@' ;

NUMBER : DIGITS ('.' DIGITS)? ([eE] [+-]? DIGITS)? ;
// A longer match than NUMBER, so `2x`, `0x10`, `1_` and `1.` are one token to complain about.
BAD_NUMBER : [0-9] [0-9A-Za-z_]* ('.' [0-9A-Za-z_]*)? ;
NAME : [A-Za-z_] [A-Za-z0-9_]* '\''* ;
STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
BAD_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'? ;

NEWLINE : '\r'? '\n' | '\r' ;
COMMENT : '#' ~[\r\n]* ;
SPACE : [ \t\u000C\u00A0\uFEFF]+ -> skip ;
STRAY : '&&' | '||' | . ;

fragment DIGITS : [0-9] ('_'? [0-9])* ;
