// What metric_figures.py found with scikit-learn 1.9.1, scikit-image 0.26.0, torchmetrics 1.9.0, nltk 3.10.4 and pycocotools. Do not edit.
// clang-format off
#pragma once

namespace kiln {

inline constexpr double kFoundAccuracy = 0.44827586206896552;
inline constexpr double kFoundExactMatch = 0.029556650246305417;
inline constexpr double kFoundTopKAccuracy = 0.66009852216748766;
inline constexpr double kFoundHammingScore = 0.4926108374384236;
inline constexpr double kFoundBinaryPrecision = 0.6629213483146067;
inline constexpr double kFoundBinaryRecall = 0.57281553398058249;
inline constexpr double kFoundBinarySpecificity = 0.69999999999999996;
inline constexpr double kFoundBinaryFBeta = 0.58882235528942117;
inline constexpr double kFoundCohenKappa = 0.31088412693601664;
inline constexpr double kFoundMatthewsCorrelation = 0.31215277890660315;
inline constexpr double kFoundBinaryAuroc = 0.65446601941747573;
inline constexpr double kFoundMacroAuroc = 0.75897870708509563;
inline constexpr double kFoundWeightedAuroc = 0.50481741362108734;
inline constexpr double kFoundMicroAuroc = 0.50643745870441192;
inline constexpr double kFoundBinaryAveragePrecision = 0.65541172440776929;
inline constexpr double kFoundMacroAveragePrecision = 0.51437697145963035;
inline constexpr double kFoundWeightedAveragePrecision = 0.33155477638191144;
inline constexpr double kFoundMicroAveragePrecision = 0.31850383330938392;
inline constexpr double kFoundMeanAbsoluteError = 0.3119094923799261;
inline constexpr double kFoundMeanSquaredError = 0.14463157254486836;
inline constexpr double kFoundRootMeanSquaredError = 0.38030457865356859;
inline constexpr double kFoundMeanAbsolutePercentageError = 3.1186563632899531e-05;
inline constexpr double kFoundR2 = 0.81145164463043185;
inline constexpr double kFoundMacroPrecision = 0.45212425964757391;
inline constexpr double kFoundMacroRecall = 0.44839991098253035;
inline constexpr double kFoundMacroFBeta = 0.44675400679356275;
inline constexpr double kFoundMacroIou = 0.28834964348426884;
inline constexpr double kFoundMacroDice = 0.38346056027751596;
inline constexpr double kFoundMacroPrecisionOfTwo = 0.3328929471011044;
inline constexpr double kFoundMacroRecallOfTwo = 0.38442497041122109;
inline constexpr double kFoundMicroPrecision = 0.44827586206896552;
inline constexpr double kFoundMicroRecall = 0.44827586206896552;
inline constexpr double kFoundMicroFBeta = 0.44827586206896552;
inline constexpr double kFoundMicroIou = 0.28888888888888886;
inline constexpr double kFoundMicroDice = 0.38470728793309439;
inline constexpr double kFoundMicroPrecisionOfTwo = 0.33004926108374383;
inline constexpr double kFoundMicroRecallOfTwo = 0.38538205980066448;
inline constexpr double kFoundWeightedPrecision = 0.45528376567033624;
inline constexpr double kFoundWeightedRecall = 0.44827586206896552;
inline constexpr double kFoundWeightedFBeta = 0.44722673118386236;
inline constexpr double kFoundWeightedIou = 0.28948093922566825;
inline constexpr double kFoundWeightedDice = 0.38435742455151112;
inline constexpr double kFoundWeightedPrecisionOfTwo = 0.33454489448593955;
inline constexpr double kFoundWeightedRecallOfTwo = 0.38538205980066448;
inline constexpr double kFoundCalibrationError = 0.10619437694549561;
inline constexpr double kFoundPsnr = 17.342002506642459;
inline constexpr double kFoundSsim = 0.94686560110368034;
inline constexpr double kFoundMsSsim = 0.97034051446467895;
inline constexpr double kFoundCharErrorRate = 0.46875;
inline constexpr double kFoundWordErrorRate = 0.57142859697341919;
inline constexpr double kFoundBleu = 0.60901486873626709;
inline constexpr double kFoundRouge1 = 0.45248869061470032;
inline constexpr double kFoundRouge2 = 0.27070710062980652;
inline constexpr double kFoundRougeL = 0.45248869061470032;
inline constexpr double kFoundChrF = 0.65153688192367554;
inline constexpr double kFoundChrFWords = 0.65891659259796143;
inline constexpr double kFoundMeteor = 0.72534576542527673;
inline constexpr double kFoundNdcg = 0.67806833871171535;
inline constexpr double kFoundNdcg4 = 0.46470398255073431;
inline constexpr double kFoundReciprocalRank = 0.48469387755102039;
inline constexpr double kFoundFrechetDistance = 92.288374738616881;
inline constexpr double kFoundLpips = 0.61182375722720683;
inline constexpr double kFoundDists = 0.63689365968166023;
inline constexpr double kFoundMeanAveragePrecision = 0.19149614870548248;
inline constexpr double kFoundMeanAveragePrecision50 = 0.55247527360916138;
inline constexpr int kFoundConfusion[5][5] = {
    {18, 4, 8, 4, 4},
    {6, 20, 5, 8, 5},
    {6, 2, 22, 7, 3},
    {8, 8, 5, 14, 3},
    {3, 6, 11, 6, 17},
};
inline constexpr const char* kFoundStems[][2] = {
    {"caresses", "caress"},
    {"ponies", "poni"},
    {"ties", "ti"},
    {"caress", "caress"},
    {"cats", "cat"},
    {"feed", "feed"},
    {"agreed", "agre"},
    {"plastered", "plaster"},
    {"bled", "bled"},
    {"motoring", "motor"},
    {"sing", "sing"},
    {"conflated", "conflat"},
    {"troubled", "troubl"},
    {"sized", "size"},
    {"hopping", "hop"},
    {"tanned", "tan"},
    {"falling", "fall"},
    {"hissing", "hiss"},
    {"fizzed", "fizz"},
    {"failing", "fail"},
    {"filing", "file"},
    {"happy", "happi"},
    {"sky", "sky"},
    {"relational", "relat"},
    {"conditional", "condit"},
    {"rational", "ration"},
    {"valenci", "valenc"},
    {"hesitanci", "hesit"},
    {"digitizer", "digit"},
    {"conformabli", "conform"},
    {"radicalli", "radic"},
    {"differentli", "differ"},
    {"vileli", "vile"},
    {"analogousli", "analog"},
    {"vietnamization", "vietnam"},
    {"predication", "predic"},
    {"operator", "oper"},
    {"feudalism", "feudal"},
    {"decisiveness", "decis"},
    {"hopefulness", "hope"},
    {"callousness", "callous"},
    {"formaliti", "formal"},
    {"sensitiviti", "sensit"},
    {"sensibiliti", "sensibl"},
    {"triplicate", "triplic"},
    {"formative", "form"},
    {"formalize", "formal"},
    {"electriciti", "electr"},
    {"electrical", "electr"},
    {"hopeful", "hope"},
    {"goodness", "good"},
    {"revival", "reviv"},
    {"allowance", "allow"},
    {"inference", "infer"},
    {"airliner", "airlin"},
    {"gyroscopic", "gyroscop"},
    {"adjustable", "adjust"},
    {"defensible", "defens"},
    {"irritant", "irrit"},
    {"replacement", "replac"},
    {"adjustment", "adjust"},
    {"dependent", "depend"},
    {"adoption", "adopt"},
    {"homologou", "homolog"},
    {"communism", "commun"},
    {"activate", "activ"},
    {"angulariti", "angular"},
    {"homologous", "homolog"},
    {"effective", "effect"},
    {"bowdlerize", "bowdler"},
    {"probate", "probat"},
    {"rate", "rate"},
    {"cease", "ceas"},
    {"controll", "control"},
    {"roll", "roll"},
    {"oscillators", "oscil"},
    {"generalizations", "gener"},
    {"y", "y"},
    {"by", "by"},
    {"jumps", "jump"},
    {"said", "said"},
    {"nation", "nation"},
    {"skies", "ski"},
    {"dying", "dy"},
    {"yellow", "yellow"},
    {"toy", "toi"},
};

}  // namespace kiln
