"""Words that may stand in for each other without changing what a text says of its subject.

Names and places leave out those that are also ordinary words (Will, Rose, Turkey), because a text in lower case does
not tell them apart.
"""

from __future__ import annotations

__all__ = ["CITIES", "CONTRACTIONS", "COUNTRIES", "FEMALE_NAMES", "LAST_NAMES", "MALE_NAMES", "NUMBERS"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


CONTRACTIONS: dict[str, str] = {
    "are not": "aren't",
    "can not": "can't",
    "cannot": "can't",
    "could not": "couldn't",
    "did not": "didn't",
    "do not": "don't",
    "does not": "doesn't",
    "had not": "hadn't",
    "has not": "hasn't",
    "have not": "haven't",
    "is not": "isn't",
    "might not": "mightn't",
    "must not": "mustn't",
    "need not": "needn't",
    "should not": "shouldn't",
    "was not": "wasn't",
    "were not": "weren't",
    "will not": "won't",
    "would not": "wouldn't",
    "could have": "could've",
    "might have": "might've",
    "should have": "should've",
    "would have": "would've",
    "i am": "i'm",
    "i have": "i've",
    "i will": "i'll",
    "you are": "you're",
    "you have": "you've",
    "you will": "you'll",
    "he is": "he's",
    "he will": "he'll",
    "she is": "she's",
    "she will": "she'll",
    "it is": "it's",
    "it will": "it'll",
    "we are": "we're",
    "we have": "we've",
    "we will": "we'll",
    "they are": "they're",
    "they have": "they've",
    "they will": "they'll",
    "that is": "that's",
    "there is": "there's",
    "here is": "here's",
    "what is": "what's",
    "where is": "where's",
    "who is": "who's",
    "how is": "how's",
}
"""From the long form to the short one."""

MALE_NAMES = _words(
    """
    Aaron Adam Adrian Alan Albert Alexander Andrew Anthony Arnold Arthur Benjamin Brandon Brian Bruce Bryan Carl Charles
    Christopher Craig Daniel Darren David Dennis Derek Donald Douglas Dustin Dwayne Dylan Edgar Edward Eric Ethan Eugene
    Francis Frederick Gabriel Gary George Gerald Gordon Gregory Harold Harrison Henry Herbert Howard Hugh Ian Isaac
    Jacob James Jason Jeffrey Jeremy Jerome Jesse Joel John Johnny Jonathan Joseph Joshua Julian Justin Keith Kenneth
    Kevin Kyle Larry Lawrence Leonard Leonardo Lewis Louis Lucas Malcolm Martin Matthew Maurice Michael Nathan Neil
    Nicholas Nicolas Norman Oliver Oscar Patrick Paul Peter Philip Phillip Quentin Ralph Raymond Richard Robert Roger
    Roland Ronald Russell Ryan Samuel Sean Sebastian Simon Spencer Stanley Stephen Steven Stuart Sylvester Terrence
    Theodore Thomas Timothy Todd Vernon Vincent Walter Warren William Woody Zachary
    """
)
FEMALE_NAMES = _words(
    """
    Abigail Adele Agnes Alexandra Alice Alicia Allison Amanda Amelia Andrea Angela Angelina Anna Anne Annie Audrey
    Barbara Beatrice Bernadette Bethany Betty Brenda Bridget Brittany Carla Carmen Carol Caroline Catherine Charlotte
    Chloe Christina Christine Claire Claudia Cynthia Danielle Deborah Debra Denise Diana Diane Dolores Donna Doris
    Dorothy Edith Eileen Eleanor Elizabeth Ellen Emily Emma Erica Erin Esther Ethel Eva Evelyn Fiona Frances Gabrielle
    Gertrude Gillian Gloria Greta Hannah Harriet Heather Helen Helena Ingrid Irene Isabel Isabella Jacqueline Jamie Jane
    Janet Jennifer Jessica Joan Joanna Joanne Jodie Josephine Joyce Judith Judy Julia Julie Karen Katharine Kathleen
    Katie Keira Kelly Kimberly Kirsten Kristen Laura Lauren Leslie Linda Lindsay Lisa Lois Louise Lucy Margaret Maria
    Marilyn Marion Martha Mary Megan Melanie Melissa Meryl Michelle Mildred Miriam Monica Nancy Naomi Natalie Nicole
    Nora Olivia Pamela Patricia Paula Pauline Penelope Phyllis Priscilla Rachel Rebecca Renee Rita Roberta Samantha
    Sandra Sarah Scarlett Sharon Sheila Shirley Sigourney Sophia Sophie Stephanie Susan Suzanne Sylvia Tamara Teresa
    Theresa Tina Uma Ursula Valerie Vanessa Veronica Victoria Vivian Wendy Whitney Winona Yvonne Zoe
    """
)
LAST_NAMES = _words(
    """
    Adams Aldridge Allen Alvarez Anderson Andrews Atkinson Bailey Barrett Bennett Bergman Bradley Brennan Burke Burton
    Campbell Carlson Cartwright Chapman Clarke Clayton Coleman Collins Connolly Cunningham Curtis Davidson Davies Davis
    Dawson Delgado Dempsey Dickinson Donovan Douglas Duncan Edwards Elliott Ellis Evans Ferguson Fernandez Fitzgerald
    Fletcher Flynn Forrester Franklin Fraser Gallagher Garcia Gibson Goldberg Gomez Gonzalez Goodwin Graham Griffith
    Hamilton Hanson Harper Harris Henderson Hernandez Hitchcock Hoffman Holmes Hopkins Hudson Hughes Jackson Jacobs
    Jenkins Jennings Jensen Johnson Johnston Jones Kaufman Kelley Kennedy Kubrick Larson Lawson Lopez Macdonald
    Mackenzie Martinez Matthews Mcdonald Mitchell Montgomery Morgan Morris Morrison Mueller Murphy Murray Nelson Newton
    Nicholson Nielsen Norris Novak Olsen Patterson Pearson Perkins Peters Peterson Phillips Powell Ramirez Reynolds
    Richards Richardson Rivera Roberts Robinson Rodriguez Rogers Romero Sanders Sanderson Schmidt Schneider Scorsese
    Sharpe Shepard Simmons Simpson Smith Spielberg Sullivan Tarantino Taylor Thompson Thornton Torres Vaughn Wagner
    Wallace Walsh Watkins Watson Webster Wheeler Whitaker Wilkinson Williams Williamson Wilson Winslow Zimmerman
    """
)
CITIES = _words(
    """
    Amsterdam Athens Atlanta Baghdad Baltimore Bangkok Barcelona Beijing Belfast Belgrade Berlin Birmingham Bogota
    Boston Bristol Brooklyn Brussels Bucharest Budapest Cairo Calcutta Casablanca Chicago Cincinnati Cleveland
    Copenhagen Dallas Damascus Delhi Denver Detroit Dresden Dublin Edinburgh Frankfurt Geneva Glasgow Hamburg Hanoi
    Havana Helsinki Hollywood Honolulu Houston Istanbul Jakarta Jerusalem Johannesburg Karachi Kiev Kyoto Lisbon
    Liverpool London Lyon Madrid Manchester Manhattan Manila Marseille Melbourne Memphis Miami Milan Minneapolis
    Montreal Moscow Mumbai Munich Nairobi Naples Nashville Osaka Oslo Oxford Paris Philadelphia Pittsburgh Prague Rome
    Rotterdam Santiago Seattle Seoul Seville Shanghai Singapore Stockholm Sydney Tehran Tokyo Toronto Vancouver Venice
    Vienna Warsaw Washington Zurich
    """
)
COUNTRIES = _words(
    """
    Afghanistan Algeria America Argentina Australia Austria Bangladesh Belgium Bolivia Brazil Britain Bulgaria Cambodia
    Canada Chile Colombia Croatia Cuba Denmark Ecuador Egypt England Estonia Ethiopia Finland France Germany Ghana
    Greece Hungary Iceland India Indonesia Iran Iraq Ireland Israel Italy Jamaica Japan Kenya Korea Latvia Lebanon Libya
    Lithuania Malaysia Mexico Mongolia Morocco Nepal Netherlands Nicaragua Nigeria Norway Pakistan Panama Paraguay Peru
    Philippines Poland Portugal Romania Russia Scotland Serbia Slovakia Slovenia Spain Sweden Switzerland Syria Taiwan
    Thailand Tunisia Uganda Ukraine Uruguay Venezuela Vietnam Zimbabwe
    """
)
NUMBERS = _words(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety
    """
)
