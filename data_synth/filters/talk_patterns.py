"""How replies talk about being instructed, in the main languages of the catalogue.

The patterns are matched on folded text: no case, no accents, plain apostrophes.
Each names the act of instructing and what the teacher is told to do; a story about
somebody's instructions, or a person who was asked to come, is none.
"""

from __future__ import annotations

import re

_LANGUAGE = (
    r"(?:english|french|spanish|german|italian|portuguese|dutch|swedish|danish|norwegian|finnish"
    r"|polish|czech|hungarian|romanian|greek|turkish|russian|ukrainian|arabic|hebrew|hindi"
    r"|chinese|japanese|korean|vietnamese|indonesian|latin)"
)
_DO = (
    r"(?:act|speak|answer|reply|respond|mention|talk|pretend|write|bring up|include|say|use"
    r"|never|always|only|end|start|begin|stay in|remind|play the|be an?|assist)\b"
)

ENGLISH = (
    # "As you asked" and "as instructed", but not "as you asked me yesterday".
    r"\bas (?:you(?:'ve| have)? |i was |per your )?(?:asked|requested|instructed|told|request)"
    r"(?: to| for)?(?=[,.:;!)\n]|$)",
    r"\bas per (?:your|the|my) (?:request|instructions?|prompt|guidelines)\b",
    rf"\b(?:you|they|the user)(?:'ve| have)? (?:asked|told|instructed|want|wanted) me to {_DO}",
    rf"\bi(?:'m| am| was|'ve been| have been) (?:told|asked|supposed|required|programmed) to {_DO}",
    r"\bi(?:'m| am| was|'ve been| have been) (?:instructed|prompted)\b(?! (?:in|by|at)\b)",
    r"\b(?:my|your|the|these|those) instructions? (?:say|says|said|state|tell|told me|require|ask"
    r"|i (?:was|am|have)|(?:was|were|is|are) (?:to (?:speak|answer|reply|act|mention|always))"
    r"|above|you (?:gave|provided))",
    r"\b(?:following|obeying|according to|given|based on|in line with|follow|obey|understand)"
    r" (?:your|my|these|those) instructions?\b(?! (?:on|for|from|of|to)\b)",
    r"\b(?:the|my|your|this|system) (?:system )?prompt\b(?! (?:reply|response|answer|action|help"
    r"|attention|payment|service|delivery|return|care|and)\b)",
    rf"\b(?:i'll|i will|i shall|let me|allow me to|i can only|i must|i have to) (?:now |only |always"
    rf" |be )*(?:act(?:ing)? as|(?:speak|answer|reply|respond|writ)(?:e|ing)? (?:as\b(?! soon)"
    rf"|only in|in (?:{_LANGUAGE}|one sentence|character|the first person)))",
    r"\bhere(?:'s| is) (?:a|an|the|my|your) (?:short |brief |one-sentence )?(?:response|reply"
    rf"|answer|sentence|haiku)(?: in (?:{_LANGUAGE}|one)| as requested|:)",
    r"\b(?:in|with) (?:exactly |only |just )?(?:one|a) (?:single |short |brief )+sentence\b",
    r"\b(?:one|two) or (?:two|three) sentences\b",
    r"\bin (?:(?:each|all|every one) of |all )?(?:my|your) (?:replies|responses)\b",
    r"\bin (?:every|each) (?:single )?(?:reply|answer|response)\b",
    rf"\b(?:the )?requested (?:format|style|language|persona|{_LANGUAGE})\b",
    r"\bas an? (?:ai|assistant|language model)[\w ]{0,30}, i(?:'m| am| was| must| have)"
    r"(?: been)? (?:instructed|told|asked|programmed|designed|required)\b",
)

FRENCH = (
    r"\bcomme (?:(?:vous|tu) )?(?:(?:me )?l'|m'|me )?(?:avez |as |aviez |avais )?demande\b",
    r"\bcomme (?:convenu dans|indique dans) (?:les|vos|tes) instructions\b",
    r"\bselon (?:vos|tes|les|mes) instructions\b",
    r"\b(?:vous|tu|on) (?:m'avez|m'as|m'a) (?:dit|demande) de (?:parler|repondre|mentionner|jouer)",
    r"\bje (?:vais|dois) (?:donc )?(?:vous |te )?repondre (?:uniquement |seulement )?en francais",
    r"\bje (?:vous |te )?(?:repondrai|parlerai) (?:uniquement |seulement )?en francais",
    r"\ben une (?:seule |courte )?phrase(?: courte)?\b",
)
SPANISH = (
    r"\bcomo (?:me |lo |usted )*(?:has |ha |habias |habia )?(?:pediste|pidio|pedido|solicitaste"
    r"|solicito|solicitado|indicaste)\b",
    r"\bsegun (?:tus|sus|las|mis) instrucciones\b",
    r"\bme (?:pidieron|dijeron|pediste|pidio|han pedido) que (?:hable|responda|hablara|respondiera)",
    r"\b(?:voy a|debo) (?:responder|contestar|hablar) (?:solo |unicamente )?en espanol",
    r"\b(?:respondere|contestare|hablare) (?:solo |unicamente )?en espanol",
    r"\ben una (?:sola )?(?:frase|oracion) corta\b",
)
GERMAN = (
    r"\bwie (?:gewunscht|verlangt|angewiesen)(?=[,.:;!]|$)",
    r"\bwie (?:du|sie|ihr) (?:es |mich |mir )*(?:gewunscht|verlangt|gebeten|aufgetragen"
    r"|angewiesen) ha",
    r"\bwie von (?:dir|ihnen|euch) (?:gewunscht|verlangt|gefordert|angewiesen)\b",
    r"\b(?:laut|gemass) (?:deinen|ihren|meinen|den) (?:anweisungen|vorgaben)\b",
    r"\bich (?:wurde|bin) (?:angewiesen|gebeten|aufgefordert)(?: worden)?,? (?:nur )?auf",
    r"\bich (?:werde|soll|muss)(?: \w+)? (?:nur |ausschliesslich )?auf deutsch (?:antworten"
    r"|sprechen|schreiben)\b",
    r"\bin einem (?:einzigen |kurzen )+satz\b",
)
ITALIAN = (
    r"\bcome (?:mi |lo )?(?:hai|ha|avete|avevi) (?:chiesto|richiesto|ordinato)\b",
    r"\bcome richiesto\b",
    r"\bsecondo le (?:tue|sue|vostre|mie) istruzioni\b",
    r"\bmi (?:e stato|hanno|hai) (?:chiesto|detto) di (?:parlare|rispondere)\b",
    r"\b(?:rispondero|parlero|devo rispondere) (?:solo |soltanto )?in italiano\b",
    r"\bin una (?:sola |breve )?frase (?:breve|corta)\b",
)
PORTUGUESE = (
    r"\bcomo (?:voce |tu )?(?:me )?(?:pediu|pediste|solicitou)\b",
    r"\bconforme (?:solicitado|pedido|(?:as )?(?:suas|tuas) instrucoes)\b",
    r"\b(?:responderei|falarei|vou responder) (?:apenas |so )?em portugues\b",
    r"\b(?:em|numa) (?:uma )?(?:unica )?frase curta\b",
)

ABOUT_INSTRUCTION = re.compile(
    "|".join((*ENGLISH, *FRENCH, *SPANISH, *GERMAN, *ITALIAN, *PORTUGUESE))
)
